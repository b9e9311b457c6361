// Take over: a person goes on from the step that is shown, and sees only what the agent sees.
import { sourceColour } from "./colour.js";
import { element } from "./details.js";
import { countOf, formatShort } from "./numbers.js";
import { Panel } from "./panel.js";
import { Person } from "./person.js";
import { downloadRun } from "./record.js";

const ARROWS = { ArrowUp: "0,-1", ArrowDown: "0,1", ArrowLeft: "-1,0", ArrowRight: "1,0" };
const SIGNS = { "0,-1": "▲", "0,1": "▼", "-1,0": "◀", "1,0": "▶" };
const PLACES = { "0,-1": "up", "0,1": "down", "-1,0": "left", "1,0": "right" };
const KEYS = "0123456789abcdefghijklmnopqrstuvwxyz";

/** Return the key of each action: its own name if all are single characters, else its number; letters follow 9. */
export function keysOf(world) {
  const names = world.actions.map((name) => name.toLowerCase());
  const own = names.every((name) => name.length === 1 && KEYS.includes(name)) && new Set(names).size === names.length;
  return own ? names : names.map((_, a) => KEYS[a] || "");
}

/** Return the action of each arrow key, for actions that are directions. */
function arrowActions(world) {
  const found = Object.entries(ARROWS).map(([key, step]) => [key, world.directions.findIndex((direction) => direction && `${direction}` === step)]);
  return Object.fromEntries(found.filter(([, a]) => a >= 0));
}

export class Takeover {
  constructor(app) {
    this.app = app;
    this.pad = document.getElementById("pad");
    this.keys = document.getElementById("keys");
    this.score = document.getElementById("score");
    this.name = document.getElementById("name");
    this.arrows = arrowActions(app.world);
    this.keyOf = keysOf(app.world);
    this._makeButtons();
    this._explain();
    document.getElementById("again").addEventListener("click", () => this.begin(this.run, this.from));
    document.getElementById("leave").addEventListener("click", () => this.leave());
    document.getElementById("download").addEventListener("click", () => this.download());
  }

  download() {
    downloadRun(this.app, this.name.value.trim());
  }

  /** Make a button for every action: directions in a cross, the others beside it. */
  _makeButtons() {
    const { world } = this.app;
    const cross = element("div", { class: "cross" });
    const others = element("div", { class: "others" });
    world.actions.forEach((_, a) => {
      const direction = world.directions[a] && `${world.directions[a]}`;
      const isArrow = Object.values(this.arrows).includes(a);
      const key = this.keyOf[a];
      const text = isArrow ? SIGNS[direction] : `${key ? `${key}: ` : ""}${world.actionName(a)}`;
      const button = element("button", { type: "button", "data-a": a, "aria-label": isArrow ? world.actions[a] : null,
        title: isArrow ? `${world.actions[a]}, key ${key}` : null, class: isArrow ? PLACES[direction] : null, text });
      button.addEventListener("click", () => this.take(a));
      (isArrow ? cross : others).append(button);
    });
    this.keys.replaceChildren(...[cross, others].filter((group) => group.firstChild));
    this.buttons = [...this.keys.querySelectorAll("button")];
  }

  _explain() {
    const { world } = this.app;
    const hasArrows = Object.keys(this.arrows).length > 0;
    const rest = world.nActions > Object.keys(this.arrows).length;
    const ways = [...(hasArrows ? ["arrow"] : []), ...(rest ? ["number"] : [])].join(" and ");
    const many = world.nActions > 10 && rest ? " After 9, letters follow." : "";
    document.getElementById("hint").textContent = world.maze
      ? "Arrow keys push up, down, left and right. Pushes are noisy; find out how noisy. Like the agents, you see the walls and know which rooms are one step away, but not which push leads there. A blue dot marks a room with a wall that may lead to the base (the blue target)."
      : `The ${ways} keys take the actions.${many} Find out what they do. You know what the agent knows at this step.`;
    document.getElementById("your-keys").textContent = `Use the ${ways} keys or the buttons above.${many} ` +
      "Point at a state to see the estimated outcomes of its actions. Click to keep it selected.";
  }

  /** Go on from time t of a run. The seed is always the same, so the outcomes depend only on the actions. */
  begin(run, t) {
    const { app } = this;
    Object.assign(this, { run, from: t });
    app.pause();
    app.setPerson(new Person(app.world, run, app.seed, t));
    if (this.panel) this.panel.root.remove();
    this.panel = new Panel(app, app.person, true);
    document.getElementById("panels").append(this.panel.root);
    app.taking = true;
    this._show();
    this.updateScore(); // before the map is fitted to the height that is left
    app.resize();
    (document.activeElement && document.activeElement.id === "again" ? document.activeElement : this.buttons[0]).focus();
  }

  /** Go back to the replay, in which the person's run stays as "You". */
  leave() {
    const { app } = this;
    app.taking = false;
    this.panel.root.remove();
    app.keepPerson();
    this._show();
    app.seek(app.mode === "step" ? app.person ? app.person.nSteps : this.from : app.index);
    app.resize();
    document.getElementById("play").focus(); // so that Space plays
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
    const { person } = this.app;
    if (!person.canTake(a)) return null;
    const sNext = person.take(a, outcome);
    this.app.redraw();
    this.updateScore();
    return sNext;
  }

  handleKey(event) {
    if (event.target === this.name) return;
    const key = event.key.toLowerCase();
    const a = event.key in this.arrows ? this.arrows[event.key] : key.length === 1 ? this.keyOf.indexOf(key) : -1;
    if (a < 0) return;
    event.preventDefault();
    event.stopPropagation();
    this.take(a);
  }

  /** Compare the person with the agents after the same number of steps. */
  updateScore() {
    const { person, runs } = this.app;
    const t = person.nSteps;
    const others = runs.map((run) => `${run.name} ${formatShort(run.curve[Math.min(t, run.nSteps)])}`).join(", ");
    const own = person.begin ? `After ${countOf(t - person.begin, "step")} of your own, at step ${t.toLocaleString("en")},` : `After ${countOf(t, "step")}`;
    this.score.textContent = `${own} you still have ${formatShort(person.curve[t])} bits to learn. The agents at the same step: ${others}.`;
    this.score.style.borderColor = sourceColour(person);
    this.buttons.forEach((button) => { button.disabled = !person.canTake(Number(button.dataset.a)); });
  }
}
