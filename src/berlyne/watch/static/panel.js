// Panel of one explorer: its map, colour scale, learning curve, and details of the selected state.
import { actionValues, bestActions, stateValues } from "./plan.js";
import { cssRgb, shadeColour, shadeRamps, sourceColour, theme } from "./colour.js";
import { Curve } from "./curve.js";
import { shadeOf } from "./data.js";
import { element, showDetails } from "./details.js";
import { WorldMap } from "./map.js";
import { formatExact, formatShort, withUnit } from "./numbers.js";

const SCALE_WORDS = { // at the ends of the colour scale; dark and light change places with the theme, words do not
  missing: ["known", "unknown"], expected: ["known", "unknown"], visits: ["never", "often"], utility: ["low", "high"], value: ["low", "high"],
};

export class Panel {
  /** source: a run or a person; hidesTruth: whether the panel belongs to a person who is acting. */
  constructor(app, source, hidesTruth = false) {
    Object.assign(this, { app, source, hidesTruth });
    const id = `panel-${hidesTruth ? "you" : app.panels ? app.panels.length : 0}`;
    this.title = element("h2", { text: source.name, id, title: source.about });
    this.swatch = element("span", { class: "swatch", "aria-hidden": "true" });
    this.now = element("p", { class: "now" });
    this.button = element("button", { type: "button", class: "take", text: source.colour ? "Take over from now" : "Go on from now" });
    this.save = element("button", { type: "button", class: "take", text: "Download", "aria-label": "Download your run" });
    this.canvas = element("canvas", { "aria-hidden": "true" });
    this.states = element("div", { class: "states", role: "group", "aria-label": `States, ${source.name}` });
    this.scale = element("div", { class: "scale" });
    this.thinned = element("p", { class: "thinned" });
    this.curveCanvas = element("canvas", { role: "img", "aria-label": `Learning curve of ${source.name}` });
    this.lines = element("p", { class: "lines" });
    this.details = element("section", { class: "details", "aria-label": `State, ${source.name}` });
    const top = element("div", { class: "top" }, this.swatch, this.title, ...(hidesTruth || !source.belief ? [] : source.colour ? [this.button] : [this.save, this.button]));
    const left = element("div", { class: "seen" }, top, this.now,
      element("div", { class: "map" }, this.canvas, this.states), this.scale, this.thinned);
    const right = element("div", { class: "known" }, element("div", { class: "curve" }, this.curveCanvas), this.lines, this.details);
    this.root = element("article", { class: "panel", "aria-labelledby": id }, left, right);
    this.map = new WorldMap(this.canvas, app.world, hidesTruth ? source : null);
    this.root.classList.toggle("wide-map", this.map.isWide);
    this.curve = new Curve(this.curveCanvas);
    this._makeStateButtons();
    this._listen();
  }

  _makeStateButtons() {
    const { world } = this.app;
    this.buttons = Array.from({ length: world.nStates }, (_, s) =>
      element("button", { type: "button", "data-s": s, tabindex: s === 0 ? 0 : -1, "aria-label": world.stateName(s), title: world.stateName(s) }));
    this.states.append(...this.buttons);
  }

  _listen() {
    const { app, states, curveCanvas } = this;
    const stateOf = (event) => {
      const button = event.target.closest("button[data-s]");
      return button ? Number(button.dataset.s) : -1;
    };
    states.addEventListener("pointerover", (event) => { if (event.pointerType === "mouse") app.hover(stateOf(event)); });
    states.addEventListener("pointerleave", () => app.hover(-1));
    states.addEventListener("focusin", (event) => {
      if (event.target.matches(":focus-visible")) app.hover(stateOf(event));
      this._setTabStop(stateOf(event));
    });
    states.addEventListener("focusout", () => app.hover(-1));
    states.addEventListener("click", (event) => app.pin(stateOf(event)));
    states.addEventListener("keydown", (event) => this._moveFocus(event));
    const scrub = (event) => {
      if (event.buttons && !this.hidesTruth) app.seek(this.curve.timeAt(event.clientX - curveCanvas.getBoundingClientRect().left));
    };
    curveCanvas.addEventListener("pointerdown", (event) => {
      curveCanvas.setPointerCapture(event.pointerId);
      scrub(event);
    });
    curveCanvas.addEventListener("pointermove", scrub);
    this.button.addEventListener("click", () => app.takeOver(this));
    this.save.addEventListener("click", () => app.takeover.download());
  }

  /** Make the Tab key return to this state. */
  _setTabStop(s) {
    this.buttons.forEach((button, z) => { button.tabIndex = z === s ? 0 : -1; });
    this.describe(s);
  }

  /** Move the focus to the nearest state in the direction of an arrow key. */
  _moveFocus(event) {
    const direction = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }[event.key];
    if (!direction || this.hidesTruth) return;
    event.preventDefault();
    event.stopPropagation();
    const current = Number(event.target.dataset.s);
    const [x, y] = this.map.point(current);
    let best = -1;
    let smallest = Infinity;
    for (let s = 0; s < this.buttons.length; s += 1) {
      const [dx, dy] = [this.map.point(s)[0] - x, this.map.point(s)[1] - y];
      const ahead = dx * direction[0] + dy * direction[1];
      const sideways = Math.abs(dx * direction[1]) + Math.abs(dy * direction[0]);
      if (ahead > 1e-6 && ahead + 2 * sideways < smallest) [best, smallest] = [s, ahead + 2 * sideways];
    }
    if (best >= 0) this.buttons[best].focus();
  }

  /** Describe the colour of a state in words. */
  describe(s) {
    const { world, shading } = this.app;
    const unit = { missing: "bits missing", visits: "visits", utility: `${this.source.utilityInfo.name} of the best action`, value: "value of the best action" }[shading];
    const value = this.shade ? `, ${formatShort(this.shade[s])} ${unit}` : "";
    this.buttons[s].setAttribute("aria-label", `${world.stateName(s)}${value}`);
  }

  resize() {
    const width = this.canvas.parentElement.clientWidth;
    if (!width) return;
    this.map.resize(width, this.app.maxMapHeight(this));
    this.curve.resize(this.curveCanvas.parentElement.clientWidth, this.app.hasColumns);
    const size = 2 * Math.max(this.map.radius, 12);
    this.buttons.forEach((button, s) => {
      const [x, y] = this.map.point(s);
      button.style.left = `${x - size / 2}px`;
      button.style.top = `${y - size / 2}px`;
      button.style.width = button.style.height = `${size}px`;
    });
  }

  get colour() {
    return sourceColour(this.source);
  }

  /** The kind of values that states are shaded by: a person sees only the expected missing information. */
  get shadeKind() {
    return this.hidesTruth && this.app.shading === "missing" ? "expected" : this.app.shading;
  }

  /** Compute the values that states are shaded by at a moment, {t, f, level, reached, first}. */
  computeShades(moment) {
    const { app } = this;
    this.view = app.viewOf(this.source);
    const values = app.shading === "value" ? stateValues(app.world, this.view, moment.t) : null;
    this.valuesUnknown = app.shading === "value" && values === null;
    this.shade = this.valuesUnknown ? new Float64Array(app.world.nStates)
      : values || shadeOf(this.source, app.world, this.shadeKind, moment.t);
  }

  /** Draw a moment. */
  draw(moment) {
    const { app, source } = this;
    const { t, f, level } = moment;
    const ends = app.scaleEnds(this);
    const [low, top] = ends;
    const shares = this.shade.map((value) => (top > low ? (value - low) / (top - low) : 0));
    this.focus = app.focus;
    const prefers = ["utility", "value"].includes(app.shading) && app.world.isSquares && !this.hidesTruth;
    this.bestActions = prefers ? bestActions(app.world, this.view, t) : null;
    this.map.draw({ shares, source, t, f, colour: this.colour, focus: this.focus, bestActions: this.bestActions, arrowKind: app.arrowKind });
    this.curve.draw({ lines: app.linesFor(this), axes: app.axes, t, level, key: app.curveKey });
    this._updateText(moment, ends);
    if (this.hidesTruth && !this.lines.firstChild) this._updateLegend(app.linesFor(this));
  }

  /** Show the names and colours of the lines. */
  _updateLegend(lines) {
    this.lines.replaceChildren(...lines.map(({ name, colour }) => {
      const swatch = element("span", { class: "swatch", "aria-hidden": "true" });
      swatch.style.background = colour;
      return element("span", {}, swatch, name);
    }));
  }

  _updateText(moment, [low, top]) {
    const { app, source } = this;
    const bits = source.curve[Math.min(moment.t, source.nSteps)];
    const steps = `step ${moment.t.toLocaleString("en")}`;
    const raceText = () => `${moment.reached ? `${steps} · reached` : "never reached"} ${formatExact(moment.level)} bits`;
    const text = moment.level === null ? `${steps} · ${formatShort(bits)} bits missing` : raceText();
    if (this.now.textContent !== text) this.now.textContent = text;
    this.now.classList.toggle("won", Boolean(moment.first));
    this.swatch.style.background = this.colour;
    const note = this.valuesUnknown ? "The page knows the values of this strategy only where the agent is." : this.map.note(source, moment.t, app.arrowKind);
    if (this.thinned.textContent !== note) this.thinned.textContent = note;
    this._updateScale(low, top);
  }

  _updateScale(low, top) {
    const { name, unit } = this.source.utilityInfo;
    const kind = this.shadeKind;
    const [label, labelUnit] = { missing: ["missing information", "bits"], expected: ["expected missing information", "bits"], visits: ["visits", ""],
      utility: [`${name} of the best action`, unit], value: ["value of the best action", this.view.method.kind === "plan" ? unit : ""] }[kind];
    const key = `${theme()} ${label} ${low} ${top}`;
    if (key === this.scaleKey) return;
    this.scaleKey = key;
    const stops = shadeRamps()[theme()].map((_, i, ramp) => cssRgb(shadeColour(i / (ramp.length - 1)))).join(",");
    const bar = element("span", { class: "ramp", "aria-hidden": "true" });
    bar.style.background = `linear-gradient(to right,${stops})`;
    const [lowWord, highWord] = SCALE_WORDS[kind];
    this.scale.replaceChildren(element("span", { class: "what", text: label }), element("b", { class: "low-word", text: lowWord }),
      element("span", { class: "low-of-scale", text: formatShort(low) }), bar,
      element("span", { class: "top-of-scale", text: withUnit(top, labelUnit) }), element("b", { class: "high-word", text: highWord }));
  }

  /** Show the details of the selected state, or of the state of the agent. */
  updateDetails(moment) {
    const { app, source } = this;
    const t = moment.t;
    const s = app.focus >= 0 ? app.focus : source.stateAt(t);
    const next = !this.hidesTruth && t < source.nSteps && source.stateAt(t) === s ? source.actions[t] : -1;
    const values = this.hidesTruth ? null : actionValues(app.world, this.view, t, s);
    const allEqual = !this.hidesTruth && this.view.method.kind === "same";
    const known = values && !allEqual && !values.some(Number.isNaN) ? values : null;
    showDetails(this.details, { world: app.world, source: this.view, s, t, values: known, allEqual, next, hidesTruth: this.hidesTruth,
      isCurrent: app.focus < 0, isPerson: !source.colour });
  }
}
