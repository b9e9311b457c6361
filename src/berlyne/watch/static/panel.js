// One explorer: its map, what the colours mean, its learning curve, and what it knows of the state looked at.
import { actionValues, wishes } from "./plan.js";
import { brief, css, exact, RAMPS, runColour, shadeColour, theme, withUnit } from "./colour.js";
import { Curve } from "./curve.js";
import { shadeOf } from "./data.js";
import { element, showDetails } from "./details.js";
import { WorldMap } from "./map.js";

export const DASHES = [[], [7, 3], [2, 3], [9, 3, 2, 3]];

export class Panel {
  constructor(app, source, number, blind = false) {
    Object.assign(this, { app, source, number, blind });
    const id = blind ? "you" : `run-${number}`;
    this.title = element("h2", { text: source.name, id });
    this.swatch = element("span", { class: "swatch", "aria-hidden": "true" });
    this.now = element("p", { class: "now" });
    this.button = element("button", { type: "button", class: "take", text: "Take over" });
    this.canvas = element("canvas", { "aria-hidden": "true" });
    this.states = element("div", { class: "states", role: "group", "aria-label": `States, ${source.name}` });
    this.scale = element("div", { class: "scale" });
    this.curveCanvas = element("canvas", { role: "img", "aria-label": `Learning curve of ${source.name}` });
    this.lines = element("p", { class: "lines" });
    this.details = element("section", { class: "details", "aria-label": `State, ${source.name}` });
    const top = element("div", { class: "top" }, this.swatch, this.title, this.button);
    const seen = element("div", { class: "seen" }, top, this.now,
      element("div", { class: "map" }, this.canvas, this.states), this.scale);
    const known = element("div", { class: "known" }, element("div", { class: "curve" }, this.curveCanvas), this.lines, this.details);
    this.root = element("article", { class: "panel", "aria-labelledby": id }, seen, known);
    this.map = new WorldMap(this.canvas, app.world, blind ? source : null);
    if (this.map.note()) seen.append(element("p", { class: "thinned", text: this.map.note() }));
    this.curve = new Curve(this.curveCanvas);
    this._makeStates();
    this._listen();
  }

  _makeStates() {
    const { world } = this.app;
    this.buttons = Array.from({ length: world.nStates }, (_, s) =>
      element("button", { type: "button", "data-s": s, tabindex: s === 0 ? 0 : -1, "aria-label": world.spoken(s) }));
    this.states.append(...this.buttons);
  }

  _listen() {
    const { app, states, curveCanvas } = this;
    const stateOf = (event) => {
      const button = event.target.closest("button[data-s]");
      return button ? Number(button.dataset.s) : -1;
    };
    states.addEventListener("pointerover", (event) => { if (event.pointerType === "mouse") app.look(stateOf(event)); });
    states.addEventListener("pointerleave", () => app.look(-1));
    states.addEventListener("focusin", (event) => {
      if (event.target.matches(":focus-visible")) app.look(stateOf(event));
      this._rove(stateOf(event));
    });
    states.addEventListener("focusout", () => app.look(-1));
    states.addEventListener("click", (event) => app.pin(stateOf(event)));
    states.addEventListener("keydown", (event) => this._move(event));
    const scrub = (event) => {
      if (event.buttons && !this.blind) app.seek(this.curve.timeAt(event.clientX - curveCanvas.getBoundingClientRect().left));
    };
    curveCanvas.addEventListener("pointerdown", (event) => {
      curveCanvas.setPointerCapture(event.pointerId);
      scrub(event);
    });
    curveCanvas.addEventListener("pointermove", scrub);
    this.button.addEventListener("click", () => app.takeOver(this));
  }

  /** Let the tab key come back to this state. */
  _rove(s) {
    this.buttons.forEach((button, z) => { button.tabIndex = z === s ? 0 : -1; });
    this.describe(s);
  }

  /** Arrow keys move to the nearest state in their direction. */
  _move(event) {
    const direction = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }[event.key];
    if (!direction || this.blind) return;
    event.preventDefault();
    event.stopPropagation();
    const here = Number(event.target.dataset.s);
    const [x, y] = this.map.point(here);
    let best = -1;
    let least = Infinity;
    for (let s = 0; s < this.buttons.length; s += 1) {
      const [dx, dy] = [this.map.point(s)[0] - x, this.map.point(s)[1] - y];
      const ahead = dx * direction[0] + dy * direction[1];
      const aside = Math.abs(dx * direction[1]) + Math.abs(dy * direction[0]);
      if (ahead > 1e-6 && ahead + 2 * aside < least) [best, least] = [s, ahead + 2 * aside];
    }
    if (best >= 0) this.buttons[best].focus();
  }

  /** Say in words what the colour of a state says. */
  describe(s) {
    const { world, show } = this.app;
    const unit = { missing: "bits missing", visits: "visits", utility: `${this.source.utilityIs.name} of the best action` }[show];
    const value = this.shade ? `, ${brief(this.shade[s])} ${unit}` : "";
    this.buttons[s].setAttribute("aria-label", `${world.spoken(s)}${value}`);
  }

  resize() {
    const width = this.canvas.parentElement.clientWidth;
    if (!width) return;
    this.map.resize(width);
    this.curve.resize(this.curveCanvas.parentElement.clientWidth);
    const size = 2 * Math.max(this.map.reach, 12);
    this.buttons.forEach((button, s) => {
      const [x, y] = this.map.point(s);
      button.style.left = `${x - size / 2}px`;
      button.style.top = `${y - size / 2}px`;
      button.style.width = button.style.height = `${size}px`;
    });
  }

  get colour() {
    return runColour(this.number);
  }

  /** Work out what states are shaded by at the moment that the app says: {t, f, level, reached, first}. */
  measure(moment) {
    this.shade = shadeOf(this.source, this.app.world, this.app.show, moment.t);
  }

  /** Draw that moment. */
  draw(moment) {
    const { app, source } = this;
    const ends = app.endsOf(this);
    const [low, top] = ends;
    const shares = this.shade.map((value) => (top > low ? (value - low) / (top - low) : 0));
    this.focus = app.focus;
    this.wants = app.show === "utility" && app.world.maze && !this.blind ? wishes(app.world, source, moment.t) : null;
    this.map.draw({ shares, source, t: moment.t, f: moment.f, colour: this.colour, focus: this.focus, wants: this.wants });
    this.curve.draw({ lines: app.linesFor(this), most: app.most, t: moment.t, level: moment.level, key: app.curveKey });
    this._say(moment, ends);
    if (this.blind && !this.lines.firstChild) this._name(app.linesFor(this));
  }

  /** Which line is whose. */
  _name(lines) {
    this.lines.replaceChildren(...lines.map(({ name, colour }) => {
      const swatch = element("span", { class: "swatch", "aria-hidden": "true" });
      swatch.style.background = colour;
      return element("span", {}, swatch, name);
    }));
  }

  _say(moment, [low, top]) {
    const { app, source } = this;
    const bits = source.curve[Math.min(moment.t, source.nSteps)];
    const steps = `step ${moment.t.toLocaleString("en")}`;
    const raced = () => `${moment.reached ? `${steps} · reached` : "never reached"} ${exact(moment.level)} bits`;
    const text = moment.level === null ? `${steps} · ${brief(bits)} bits missing` : raced();
    if (this.now.textContent !== text) this.now.textContent = text;
    this.now.classList.toggle("won", Boolean(moment.first));
    this.swatch.style.background = this.colour;
    const { name, unit } = source.utilityIs;
    const what = { missing: [this.blind ? "expected to be missing" : "missing information", "bits"], visits: ["visits", ""],
      utility: [`${name} of the best action`, unit] }[app.show];
    const key = `${theme()} ${what[0]} ${low} ${top}`;
    if (key === this.scaleKey) return;
    this.scaleKey = key;
    const stops = RAMPS[theme()].map((_, i, ramp) => css(shadeColour(i / (ramp.length - 1)))).join(",");
    const bar = element("span", { class: "ramp", "aria-hidden": "true" });
    bar.style.background = `linear-gradient(to right,${stops})`;
    this.scale.replaceChildren(element("span", { class: "what", text: what[0] }), element("span", { class: "low-of-scale", text: brief(low) }), bar,
      element("span", { class: "top-of-scale", text: withUnit(top, what[1]) }));
  }

  /** What is known of the state that is looked at, or where the agent is. */
  detail(moment) {
    const { app, source } = this;
    const t = moment.t;
    const s = app.focus >= 0 ? app.focus : source.stateAt(t);
    const next = !this.blind && t < source.nSteps && source.stateAt(t) === s ? source.actions[t] : -1;
    const values = this.blind ? null : actionValues(app.world, source, t, s);
    const alike = !this.blind && source.method.kind === "same";
    const known = values && !alike && !values.some(Number.isNaN) ? values : null;
    showDetails(this.details, { world: app.world, source, s, t, values: known, alike, next, blind: this.blind, followed: app.focus < 0 });
  }
}
