// Try it yourself: a person in the place of an agent, who sees no more than the agent does.
import { Person } from "./belief.js";
import { brief } from "./colour.js";
import { unpack } from "./data.js";
import { element } from "./details.js";
import { Panel } from "./panel.js";

const ARROWS = { ArrowUp: 0, ArrowDown: 1, ArrowLeft: 2, ArrowRight: 3 };
const SIGNS = ["▲", "▼", "◀", "▶"];

export class Takeover {
  constructor(app) {
    this.app = app;
    this.pad = document.getElementById("pad");
    this.keys = document.getElementById("keys");
    this.score = document.getElementById("score");
    const { world } = app;
    this.keys.classList.toggle("cross", Boolean(world.maze));
    world.actions.forEach((label, a) => {
      const text = world.maze ? SIGNS[a] : `${a < 9 ? `${a + 1}: ` : ""}${world.spokenAction(a)}`;
      const button = element("button", { type: "button", "data-a": a, "aria-label": world.maze ? label : null, text });
      button.addEventListener("click", () => this.take(a));
      this.keys.append(button);
    });
    document.getElementById("hint").textContent = world.maze
      ? "Arrow keys push up, down, left and right; pushes are noisy, and how noisy is yours to find out. You see the walls and know which rooms can follow a room, as the agents do, but not by which push: a pink dot marks a room with a wall that may lead to the base, the pink rings."
      : "Number keys take the actions. What they do is yours to find out; you know what the agents know at first.";
    document.getElementById("your-keys").textContent = `${world.maze ? "Arrow keys push" : "Number keys act"}, as the buttons above do. ` +
      "Point at a state to see what its actions are thought to do; click to keep it.";
    document.getElementById("again").addEventListener("click", () => this.begin(this.like));
    document.getElementById("leave").addEventListener("click", () => this.leave());
  }

  /** Begin in the place of a run's agent; the same seed every time, so that what happens depends on what is done. */
  begin(run) {
    const { app } = this;
    this.like = run;
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
    this.say();
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

  take(a, given = null) {
    const sNext = this.app.person.take(a, given);
    this.app.redraw();
    this.say();
    return sNext;
  }

  pressed(event) {
    const { world } = this.app;
    const a = world.maze ? ARROWS[event.key] : "123456789".indexOf(event.key);
    if (event.key.length > 1 && !world.maze) return;
    if (a === undefined || a < 0 || a >= world.nActions) return;
    event.preventDefault();
    event.stopPropagation();
    this.take(a);
  }

  /** How the person does against the agents after as many steps. */
  say() {
    const { person, runs } = this.app;
    const t = person.nSteps;
    const others = runs.map((run) => `${run.name} ${brief(run.curve[Math.min(t, run.nSteps)])}`).join(", ");
    const steps = t === 1 ? "1 step" : `${t} steps`;
    this.score.textContent = `After ${steps} you miss ${brief(person.curve[t])} bits; at that time ${others}.`;
  }
}
