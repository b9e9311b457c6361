// Puts the page together: what is looked at, when, and how it is kept in the address.
import { brief, forgetStyle, RAMPS, runColour, theme } from "./colour.js";
import { Controls, levelsOf } from "./controls.js";
import { Run, World } from "./data.js";
import { DASHES, Panel } from "./panel.js";
import { actionValues } from "./plan.js";
import { Takeover } from "./takeover.js";

const SMOOTH = 30; // steps a second up to which the agent is seen to walk
const DETAILS_EVERY = 90; // milliseconds between what is said of a state while it plays

class App {
  constructor(data) {
    this.world = new World(data.world);
    this.runs = data.runs.map((run) => new Run(run, this.world));
    this.seed = data.seed;
    this.steps = Math.max(...this.runs.map((run) => run.nSteps));
    this.levels = levelsOf(this.runs);
    this.topCurve = Math.max(...this.runs.map((run) => run.curve.reduce((most, bits) => Math.max(most, bits), 0)));
    this.topMissing = Math.max(...this.runs.map((run) => this._topOf(run)));
    Object.assign(this, { mode: "step", show: "missing", position: 0, playing: false, pinned: -1, looked: -1 });
    Object.assign(this, { person: null, taking: false, frames: [] });
    this._title();
    this.controls = new Controls(this);
    this.panels = this.runs.map((run, i) => new Panel(this, run, i));
    document.getElementById("panels").append(...this.panels.map((panel) => panel.root));
    document.getElementById("panels").dataset.n = this.runs.length;
    this.takeover = new Takeover(this);
    this._offer();
    this.calm = matchMedia("(prefers-reduced-motion: reduce)");
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      forgetStyle();
      this.resize();
    });
    addEventListener("hashchange", () => this.readAddress());
    const place = document.getElementById("panels");
    new ResizeObserver(() => {
      if (place.clientWidth !== this.width) this.resize();
      this.width = place.clientWidth;
    }).observe(place);
    if (parent !== window) this._tellHeight();
    this.resize();
    this.readAddress();
  }

  /** Within another page, say how high this one is, so that its frame can be; it grows, or begins anew at another width. */
  _tellHeight() {
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

  /** Taking over is offered where the page can do what Bayes' rule asks for. */
  _offer() {
    this.panels.forEach((panel) => {
      if (!panel.source.belief) panel.button.remove();
    });
    document.getElementById("not-offered").hidden = this.runs.some((run) => run.belief);
  }

  /** The most bits that any state ever missed in a run: its rows' changes in the order of time, once. */
  _topOf(run) {
    const { world } = this;
    const bits = new Float64Array(world.nStates);
    const now = new Float64Array(world.nRows);
    const rows = new Uint32Array(run.events.number.length);
    for (let row = 0; row < world.nRows; row += 1) {
      for (let i = run.events.start[row]; i < run.events.start[row + 1]; i += 1) rows[run.events.number[i]] = row;
    }
    let top = 0;
    rows.forEach((row, event) => {
      const s = Math.floor(row / world.nActions);
      bits[s] += run.eventMissing[event] - now[row];
      now[row] = run.eventMissing[event];
      if (event >= world.nRows - 1) top = Math.max(top, event === world.nRows - 1 ? Math.max(...bits) : bits[s]);
    });
    return top;
  }

  get last() {
    return this.mode === "race" ? this.levels.length - 1 : this.steps;
  }

  get place() {
    return Math.min(Math.floor(this.position), this.last);
  }

  get level() {
    return this.levels[Math.min(this.place, this.levels.length - 1)];
  }

  /** The state that is looked at; -1 to follow the agents. */
  get focus() {
    return this.looked >= 0 ? this.looked : this.pinned;
  }

  /** What a panel shows now. */
  moment(panel) {
    if (panel.blind) return { t: this.person.nSteps, f: 0, level: null };
    const run = panel.source;
    if (this.mode === "race") {
      const times = this.runs.map((other) => other.timeAt(this.level));
      const t = run.timeAt(this.level);
      const first = Math.min(...times.filter((time) => time >= 0));
      return { t: t < 0 ? run.nSteps : t, f: 0, level: this.level, reached: t >= 0, first: t === first };
    }
    const t = Math.min(this.place, run.nSteps);
    const walks = this.playing && this.speed <= SMOOTH && !this.calm.matches && this.place < run.nSteps;
    return { t, f: walks ? this.position - this.place : 0, level: null };
  }

  /** What the ends of a panel's colours stand for: fixed for missing information, else zero and all that there is now. */
  endsOf(panel) {
    if (this.show === "missing" && !panel.blind) return [0, this.topMissing];
    if (panel.blind) panel.firstTop ??= Math.max(...panel.shade);
    if (this.show === "missing") return [0, panel.firstTop];
    const alike = panel.blind ? [panel]
      : this.panels.filter((other) => this.show === "visits" || other.source.utilityIs.name === panel.source.utilityIs.name);
    return [Math.min, Math.max].map((most) => alike.reduce((found, { shade }) => most(found, ...shade), 0));
  }

  get shown() {
    return this.taking ? [this.takeover.panel] : this.panels;
  }

  /** The ends of the axes of learning curves, which begin at 0. */
  get most() {
    const steps = this.taking ? Math.min(Math.max(60, Math.ceil((this.person.nSteps * 1.25) / 20) * 20), Math.max(this.steps, 60)) : this.steps;
    const mine = this.person ? this.person.curve.reduce((most, bits) => Math.max(most, bits), 0) : 0;
    return { steps, bits: Math.max(this.topCurve, mine) };
  }

  get curveKey() {
    return `${theme()} ${this.taking} ${this.most.steps} ${this.person ? this.person.nSteps : ""}`;
  }

  /** The lines of a panel's learning curve: its own and those of all others. */
  linesFor(panel) {
    const { steps } = this.most;
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
    this.seek(this.place + n);
  }

  toggle() {
    if (this.playing) this.pause();
    else this.start();
  }

  start() {
    if (this.place >= this.last) this.position = 0;
    this.playing = true;
    this.before = null;
    requestAnimationFrame((now) => this._tick(now));
    this.redraw();
  }

  pause() {
    if (!this.playing) return;
    this.playing = false;
    this.position = this.place;
    this.changed();
  }

  _tick(now) {
    if (!this.playing) return;
    if (this.before !== null) {
      const pace = this.mode === "race" ? (this.speed * this.levels.length) / Math.max(this.steps, 1) : this.speed;
      const elapsed = Math.max(now - this.before, 0);
      this.position = Math.min(this.position + (elapsed / 1000) * pace, this.last);
      this.frames.push(elapsed);
      if (this.frames.length > 600) this.frames.shift();
    }
    this.before = now;
    this.drawNow(now);
    if (this.place >= this.last) this.pause();
    else requestAnimationFrame((next) => this._tick(next));
  }

  setMode(mode) {
    this.pause();
    if (mode === this.mode) return;
    const bits = this.runs[0].curve[Math.min(this.place, this.runs[0].nSteps)];
    const time = this.runs[0].timeAt(this.level);
    this.mode = mode;
    if (mode === "race") this.position = Math.max(this.levels.findIndex((level) => level <= bits), 0);
    else this.position = time < 0 ? this.steps : time;
    this.changed();
  }

  showBy(kind) {
    this.show = kind;
    this.redraw();
  }

  look(s) {
    if (s === this.looked) return;
    this.looked = s;
    this.redraw();
  }

  pin(s) {
    this.pinned = s === this.pinned ? -1 : s;
    this.changed();
  }

  takeOver(panel) {
    this.takeover.begin(panel.source);
  }

  pressed(event) {
    this.takeover.pressed(event);
  }

  changed() {
    this.writeAddress();
    this.redraw();
    clearTimeout(this.saying);
    this.saying = setTimeout(() => this.say(), 350);
  }

  get ramps() {
    return RAMPS;
  }

  /** What the strategy of a run thinks of the actions in state s at time t. */
  valuesOf(run, t, s) {
    return actionValues(this.world, run, t, s);
  }

  /** Draw at the next frame. */
  redraw() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame((now) => this.drawNow(now));
  }

  drawNow(now) {
    this.asked = false;
    if (!this.shown.every((panel) => panel.map.still)) return; // nothing has a size yet
    this.controls.update();
    const moments = this.shown.map((panel) => this.moment(panel));
    this.shown.forEach((panel, i) => panel.measure(moments[i]));
    this.shown.forEach((panel, i) => panel.draw(moments[i]));
    if (this.playing && now - this.detailed < DETAILS_EVERY) return;
    this.detailed = now;
    this.shown.forEach((panel, i) => panel.detail(moments[i]));
  }

  resize() {
    this.shown.forEach((panel) => panel.resize());
    this.redraw();
  }

  /** Tell those who cannot see it. */
  say() {
    if (this.playing || this.taking) return;
    const where = this.panels.map((panel) => {
      const { t } = this.moment(panel);
      return `${panel.source.name} at step ${t} in ${this.world.spoken(panel.source.stateAt(t))}, ${brief(panel.source.curve[t])} bits missing`;
    });
    document.getElementById("status").textContent = where.join("; ");
  }

  /** `#t=420&s=14`, or `#bits=40` for a race. */
  writeAddress() {
    if (this.playing) return;
    const parts = [this.mode === "race" ? `bits=${this.level}` : `t=${this.place}`];
    if (this.pinned >= 0) parts.push(`s=${this.pinned}`);
    try {
      history.replaceState(null, "", `#${parts.join("&")}`);
    } catch {
      // a page within another may have no address of its own
    }
  }

  readAddress() {
    const said = new URLSearchParams(location.hash.slice(1));
    const number = (name) => (/^\d+(\.\d+)?$/.test(said.get(name) || "") ? Number(said.get(name)) : null);
    this.pause();
    const [t, s, bits] = ["t", "s", "bits"].map(number);
    this.pinned = s !== null && Number.isInteger(s) && s < this.world.nStates ? s : -1;
    this.mode = bits !== null ? "race" : "step";
    const level = bits === null ? -1 : this.levels.findIndex((one) => one <= bits);
    this.position = Math.min(bits !== null ? (level < 0 ? this.last : level) : Math.floor(t || 0), this.last);
    document.querySelector(`input[name=mode][value=${this.mode}]`).checked = true;
    this.redraw();
  }
}

window.berlyne = new App(JSON.parse(document.getElementById("data").textContent));
