// Take over: a person replaces an agent and sees only what the agent sees.
import { Person } from "./belief.js";
import { formatShort } from "./colour.js";
import { unpack } from "./data.js";
import { element } from "./details.js";
import { Panel } from "./panel.js";

const ARROW_ACTIONS = { ArrowUp: 0, ArrowDown: 1, ArrowLeft: 2, ArrowRight: 3 };
const ARROW_SIGNS = ["▲", "▼", "◀", "▶"];

export class Takeover {
  constructor(app) {
    this.app = app;
    this.pad = document.getElementById("pad");
    this.keys = document.getElementById("keys");
    this.score = document.getElementById("score");
    const { world } = app;
    this.keys.classList.toggle("cross", Boolean(world.maze));
    world.actions.forEach((label, a) => {
      const text = world.maze ? ARROW_SIGNS[a] : `${a < 9 ? `${a + 1}: ` : ""}${world.actionName(a)}`;
      const button = element("button", { type: "button", "data-a": a, "aria-label": world.maze ? label : null, text });
      button.addEventListener("click", () => this.take(a));
      this.keys.append(button);
    });
    document.getElementById("hint").textContent = world.maze
      ? "Arrow keys push up, down, left and right. Pushes are noisy; find out how noisy. Like the agents, you see the walls and know which rooms are one step away, but not which push leads there. A pink dot marks a room with a wall that may lead to the base (the pink rings)."
      : "Number keys take the actions. Find out what they do. At the start you know what the agents know.";
    document.getElementById("your-keys").textContent = `Use the ${world.maze ? "arrow" : "number"} keys or the buttons above. ` +
      "Point at a state to see the estimated outcomes of its actions. Click to keep it selected.";
    document.getElementById("again").addEventListener("click", () => this.begin(this.run));
    document.getElementById("leave").addEventListener("click", () => this.leave());
  }

  /** Begin at the start of a run. The seed is always the same, so the outcomes depend only on the actions. */
  begin(run) {
    const { app } = this;
    this.run = run;
    app.pause();
    app.person = new Person(app.world, run, app.seed, unpack);
    if (this.panel) this.panel.root.remove();
    this.panel = new Panel(app, app.person, -1, true);
    this.panel.button.remove();
    document.getElementById("panels").append(this.panel.root);
    app.taking = true;
    this._show();
    this.panel.resize();
    app.redraw();
    this.updateScore();
    (document.activeElement && document.activeElement.id === "again" ? document.activeElement : this.keys.firstChild).focus();
  }

  leave() {
    this.app.taking = false;
    this.panel.root.remove();
    this._show();
    this.app.resize();
    this.app.panels[0].button.focus();
  }

  _show() {
    const { app } = this;
    document.getElementById("replay").hidden = app.taking;
    this.pad.hidden = !app.taking;
    document.getElementById("replay-keys").hidden = app.taking;
    document.getElementById("your-keys").hidden = !app.taking;
    document.body.classList.toggle("taking", app.taking);
    for (const panel of app.panels) panel.root.hidden = app.taking;
  }

  take(a, outcome = null) {
    const sNext = this.app.person.take(a, outcome);
    this.app.redraw();
    this.updateScore();
    return sNext;
  }

  handleKey(event) {
    const { world } = this.app;
    const a = world.maze ? ARROW_ACTIONS[event.key] : "123456789".indexOf(event.key);
    if (event.key.length > 1 && !world.maze) return;
    if (a === undefined || a < 0 || a >= world.nActions) return;
    event.preventDefault();
    event.stopPropagation();
    this.take(a);
  }

  /** Compare the person with the agents after the same number of steps. */
  updateScore() {
    const { person, runs } = this.app;
    const t = person.nSteps;
    const others = runs.map((run) => `${run.name} ${formatShort(run.curve[Math.min(t, run.nSteps)])}`).join(", ");
    const steps = t === 1 ? "1 step" : `${t} steps`;
    this.score.textContent = `After ${steps} you still have ${formatShort(person.curve[t])} bits to learn. The agents at the same step: ${others}.`;
  }
}
