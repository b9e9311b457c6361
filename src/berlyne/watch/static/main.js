// The page: panels, controls, the selected time and state, and the address that stores them.
import { clearStyleCache, formatShort, RAMPS, runColour, theme } from "./colour.js";
import { Controls, raceLevels } from "./controls.js";
import { Run, World } from "./data.js";
import { DASHES, Panel } from "./panel.js";
import { actionValues } from "./plan.js";
import { Takeover } from "./takeover.js";

const MAX_SMOOTH_SPEED = 30; // steps per second up to which the agent moves smoothly
const DETAILS_INTERVAL = 90; // milliseconds between updates of the details while playing

class App {
  constructor(data) {
    this.world = new World(data.world);
    this.runs = data.runs.map((run) => new Run(run, this.world));
    this.seed = data.seed;
    this.notes = data.notes;
    this.steps = Math.max(...this.runs.map((run) => run.nSteps));
    this.levels = raceLevels(this.runs);
    this.maxCurve = Math.max(...this.runs.map((run) => run.curve.reduce((most, bits) => Math.max(most, bits), 0)));
    this.maxMissing = Math.max(...this.runs.map((run) => this._largestMissing(run)));
    Object.assign(this, { mode: "step", shading: "missing", position: 0, playing: false, pinned: -1, hovered: -1 });
    Object.assign(this, { person: null, taking: false, frames: [] });
    this._title();
    this.controls = new Controls(this);
    this.panels = this.runs.map((run, i) => new Panel(this, run, i));
    document.getElementById("panels").append(...this.panels.map((panel) => panel.root));
    document.getElementById("panels").dataset.n = this.runs.length;
    this.takeover = new Takeover(this);
    this._offerTakeover();
    this.reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      clearStyleCache();
      this.resize();
    });
    addEventListener("hashchange", () => this.readAddress());
    const container = document.getElementById("panels");
    new ResizeObserver(() => {
      if (container.clientWidth !== this.width) this.resize();
      this.width = container.clientWidth;
    }).observe(container);
    if (parent !== window) this._postHeight();
    this.resize();
    this.readAddress();
  }

  /** Within another page, post the height of this one for its frame. The height only grows, unless the width changes. */
  _postHeight() {
    const root = document.documentElement;
    let [width, height] = [0, 0];
    new ResizeObserver(() => {
      const now = Math.ceil(root.getBoundingClientRect().height);
      if (root.offsetWidth === width && now <= height) return;
      [width, height] = [root.offsetWidth, now];
      parent.postMessage({ height }, "*");
    }).observe(root);
  }

  _title() {
    const { world, runs } = this;
    const count = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;
    document.getElementById("title").textContent = world.name;
    document.getElementById("about").textContent = `${count(world.nStates, world.maze ? "room" : "state")}, ` +
      `${count(world.nActions, "action")}, ${count(this.steps, "step")}. ${runs.map((run) => run.name).join(" · ")}`;
  }

  /** Offer to take over if the page supports the prior. */
  _offerTakeover() {
    this.panels.forEach((panel) => {
      if (!panel.source.belief) panel.button.remove();
    });
    document.getElementById("not-offered").hidden = this.runs.some((run) => run.belief);
  }

  /** Return the largest missing information of any state at any time of a run, in one pass over the changes of rows. */
  _largestMissing(run) {
    const { world } = this;
    const bits = new Float64Array(world.nStates);
    const now = new Float64Array(world.nRows);
    const rows = new Uint32Array(run.events.number.length);
    for (let row = 0; row < world.nRows; row += 1) {
      for (let i = run.events.start[row]; i < run.events.start[row + 1]; i += 1) rows[run.events.number[i]] = row;
    }
    let largest = 0;
    rows.forEach((row, event) => {
      const s = Math.floor(row / world.nActions);
      bits[s] += run.eventMissing[event] - now[row];
      now[row] = run.eventMissing[event];
      if (event >= world.nRows - 1) largest = Math.max(largest, event === world.nRows - 1 ? Math.max(...bits) : bits[s]);
    });
    return largest;
  }

  get last() {
    return this.mode === "race" ? this.levels.length - 1 : this.steps;
  }

  get index() {
    return Math.min(Math.floor(this.position), this.last);
  }

  get level() {
    return this.levels[Math.min(this.index, this.levels.length - 1)];
  }

  /** The state that is hovered or pinned; -1 to follow the agents. */
  get focus() {
    return this.hovered >= 0 ? this.hovered : this.pinned;
  }

  /** Return the moment that a panel shows now. */
  moment(panel) {
    if (panel.hidesTruth) return { t: this.person.nSteps, f: 0, level: null };
    const run = panel.source;
    if (this.mode === "race") {
      const times = this.runs.map((other) => other.timeAt(this.level));
      const t = run.timeAt(this.level);
      const first = Math.min(...times.filter((time) => time >= 0));
      return { t: t < 0 ? run.nSteps : t, f: 0, level: this.level, reached: t >= 0, first: t === first };
    }
    const t = Math.min(this.index, run.nSteps);
    const walks = this.playing && this.speed <= MAX_SMOOTH_SPEED && !this.reducedMotion.matches && this.index < run.nSteps;
    return { t, f: walks ? this.position - this.index : 0, level: null };
  }

  /** Return the ends of a panel's colour scale: fixed for missing information, else the range of zero and the current values. */
  scaleEnds(panel) {
    if (this.shading === "missing" && !panel.hidesTruth) return [0, this.maxMissing];
    if (panel.hidesTruth) panel.initialMax ??= Math.max(...panel.shade);
    if (this.shading === "missing") return [0, panel.initialMax];
    const comparable = panel.hidesTruth ? [panel]
      : this.panels.filter((other) => this.shading === "visits" || other.source.utilityInfo.name === panel.source.utilityInfo.name);
    return [Math.min, Math.max].map((extreme) => comparable.reduce((value, { shade }) => extreme(value, ...shade), 0));
  }

  get visiblePanels() {
    return this.taking ? [this.takeover.panel] : this.panels;
  }

  /** The upper ends of the axes of learning curves, which start at 0. */
  get axisMax() {
    const steps = this.taking ? Math.min(Math.max(60, Math.ceil((this.person.nSteps * 1.25) / 20) * 20), Math.max(this.steps, 60)) : this.steps;
    const mine = this.person ? this.person.curve.reduce((most, bits) => Math.max(most, bits), 0) : 0;
    return { steps, bits: Math.max(this.maxCurve, mine) };
  }

  get curveKey() {
    return `${theme()} ${this.taking} ${this.axisMax.steps} ${this.person ? this.person.nSteps : ""}`;
  }

  /** Return the lines of a panel's learning curve: its own and those of the other runs. */
  linesFor(panel) {
    const { steps } = this.axisMax;
    const lines = this.runs.map((run, i) => ({ curve: run.curve, nSteps: Math.min(run.nSteps, steps), colour: runColour(i),
      dash: DASHES[i], own: panel.source === run, name: run.name }));
    if (this.person) {
      const own = panel.source === this.person;
      lines.push({ curve: this.person.curve, nSteps: this.person.nSteps, colour: runColour(-1), dash: [], own, name: "You" });
    }
    return lines;
  }

  seek(position) {
    this.position = Math.min(Math.max(position, 0), this.last);
    this.changed();
  }

  step(n) {
    this.pause();
    this.seek(this.index + n);
  }

  toggle() {
    if (this.playing) this.pause();
    else this.start();
  }

  start() {
    if (this.index >= this.last) this.position = 0;
    this.playing = true;
    this.lastFrame = null;
    requestAnimationFrame((now) => this._tick(now));
    this.redraw();
  }

  pause() {
    if (!this.playing) return;
    this.playing = false;
    this.position = this.index;
    this.changed();
  }

  _tick(now) {
    if (!this.playing) return;
    if (this.lastFrame !== null) {
      const pace = this.mode === "race" ? (this.speed * this.levels.length) / Math.max(this.steps, 1) : this.speed;
      const elapsed = Math.max(now - this.lastFrame, 0);
      this.position = Math.min(this.position + (elapsed / 1000) * pace, this.last);
      this.frames.push(elapsed);
      if (this.frames.length > 600) this.frames.shift();
    }
    this.lastFrame = now;
    this.drawNow(now);
    if (this.index >= this.last) this.pause();
    else requestAnimationFrame((next) => this._tick(next));
  }

  setMode(mode) {
    this.pause();
    if (mode === this.mode) return;
    const bits = this.runs[0].curve[Math.min(this.index, this.runs[0].nSteps)];
    const time = this.runs[0].timeAt(this.level);
    this.mode = mode;
    if (mode === "race") this.position = Math.max(this.levels.findIndex((level) => level <= bits), 0);
    else this.position = time < 0 ? this.steps : time;
    this.changed();
  }

  setShading(kind) {
    this.shading = kind;
    this.redraw();
  }

  hover(s) {
    if (s === this.hovered) return;
    this.hovered = s;
    this.redraw();
  }

  pin(s) {
    this.pinned = s === this.pinned ? -1 : s;
    this.changed();
  }

  takeOver(panel) {
    this.takeover.begin(panel.source);
  }

  handleKey(event) {
    this.takeover.handleKey(event);
  }

  changed() {
    this.writeAddress();
    this.redraw();
    clearTimeout(this.announceTimer);
    this.announceTimer = setTimeout(() => this.announce(), 350);
  }

  get ramps() {
    return RAMPS;
  }

  /** Return the action values of a run in state s at time t. */
  valuesOf(run, t, s) {
    return actionValues(this.world, run, t, s);
  }

  /** Draw in the next frame. */
  redraw() {
    if (this.drawScheduled) return;
    this.drawScheduled = true;
    requestAnimationFrame((now) => this.drawNow(now));
  }

  drawNow(now) {
    this.drawScheduled = false;
    if (!this.visiblePanels.every((panel) => panel.map.background)) return; // nothing has a size yet
    this.controls.update();
    this._updateNote();
    const moments = this.visiblePanels.map((panel) => this.moment(panel));
    this.visiblePanels.forEach((panel, i) => panel.computeShades(moments[i]));
    this.visiblePanels.forEach((panel, i) => panel.draw(moments[i]));
    if (this.playing && now - this.detailsTime < DETAILS_INTERVAL) return;
    this.detailsTime = now;
    this.visiblePanels.forEach((panel, i) => panel.updateDetails(moments[i]));
  }

  /** Show the note of the last step that has one. A race has no common step, and a person who takes over has none. */
  _updateNote() {
    const place = document.getElementById("note");
    const reached = this.taking || this.mode === "race" ? [] : this.notes.filter(([t]) => t <= this.index);
    const text = reached.length ? reached[reached.length - 1][1] : "";
    place.hidden = !this.notes.length;
    if (place.textContent !== text) place.textContent = text;
  }

  resize() {
    this.visiblePanels.forEach((panel) => panel.resize());
    this.redraw();
  }

  /** Announce the current time and states to screen readers. */
  announce() {
    if (this.playing || this.taking) return;
    const texts = this.panels.map((panel) => {
      const { t } = this.moment(panel);
      return `${panel.source.name} at step ${t} in ${this.world.stateName(panel.source.stateAt(t))}, ${formatShort(panel.source.curve[t])} bits missing`;
    });
    document.getElementById("status").textContent = texts.join("; ");
  }

  /** Write the address: `#t=420&s=14`, or `#bits=40` for a race. */
  writeAddress() {
    if (this.playing) return;
    const parts = [this.mode === "race" ? `bits=${this.level}` : `t=${this.index}`];
    if (this.pinned >= 0) parts.push(`s=${this.pinned}`);
    try {
      history.replaceState(null, "", `#${parts.join("&")}`);
    } catch {
      // a page within another page may have no address
    }
  }

  /** Read time, state and mode from the address. */
  readAddress() {
    const fragment = new URLSearchParams(location.hash.slice(1));
    const number = (name) => (/^\d+(\.\d+)?$/.test(fragment.get(name) || "") ? Number(fragment.get(name)) : null);
    this.pause();
    const [t, s, bits] = ["t", "s", "bits"].map(number);
    this.pinned = s !== null && Number.isInteger(s) && s < this.world.nStates ? s : -1;
    this.mode = bits !== null ? "race" : "step";
    const level = bits === null ? -1 : this.levels.findIndex((value) => value <= bits);
    this.position = Math.min(bits !== null ? (level < 0 ? this.last : level) : Math.floor(t || 0), this.last);
    document.querySelector(`input[name=mode][value=${this.mode}]`).checked = true;
    this.redraw();
  }
}

window.berlyne = new App(JSON.parse(document.getElementById("data").textContent));
