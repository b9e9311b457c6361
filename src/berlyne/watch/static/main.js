// The page: panels, controls, the selected time and state, and the address that stores them.
import { addressParts, postHeight, writeAddress } from "./address.js";
import { clearStyleCache, setAppearance, shadeRamps, sourceColour, theme } from "./colour.js";
import { Controls, raceLevels } from "./controls.js";
import { contestAxes } from "./curve.js";
import { Run, World } from "./data.js";
import { Help } from "./help.js";
import { showNote } from "./notes.js";
import { countOf, formatShort } from "./numbers.js";
import { Panel } from "./panel.js";
import { actionValues } from "./plan.js";
import { Takeover } from "./takeover.js";
import { underSettings } from "./whatif.js";

const MAX_SMOOTH_SPEED = 30; // steps per second up to which the agent moves smoothly
const DETAILS_INTERVAL = 90; // milliseconds between updates of the details while playing
const [WIDE, PHONE] = [992, 600]; // pixels from which on maps are fitted to the height of the window, and to that of a frame
const FRAME_HEIGHT = 720; // height that maps are fitted to within another page, whose frame may grow with its content
const MIN_MAP_HEIGHT = 180;
const BESIDE_MAP = 130; // pixels above and below a map: name, time and colour scale
const BELOW_MAP = { column: 300, wide: 230 }; // pixels for curve and details if they are below the map, or below a wide map

class App {
  constructor(data) {
    setAppearance(data.appearance);
    this.world = new World(data.world);
    this.runs = data.runs.map((run) => new Run(run, this.world));
    this.seed = data.seed;
    this.notes = data.notes;
    Object.assign(this, { mode: "step", shading: "missing", position: 0, playing: false, pinned: -1, hovered: -1 });
    Object.assign(this, { person: null, taking: false, frames: [], arrowKind: "believed", whatIf: { depth: null, alpha: null }, views: new Map() });
    this.panels = [];
    for (const run of this.runs) this.panels.push(new Panel(this, run));
    this._sourcesChanged();
    this._title();
    this.help = new Help(this);
    this.controls = new Controls(this);
    document.getElementById("panels").append(...this.panels.map((panel) => panel.root));
    this.takeover = new Takeover(this);
    this.reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      clearStyleCache();
      this.resize();
    });
    addEventListener("hashchange", () => this.readAddress());
    addEventListener("resize", () => this.resize());
    const container = document.getElementById("panels");
    new ResizeObserver(() => {
      if (container.clientWidth !== this.width) this.resize();
      this.width = container.clientWidth;
    }).observe(container);
    if (parent !== window) postHeight();
    this.resize();
    this.readAddress();
  }

  _title() {
    const { world, runs } = this;
    document.getElementById("title").textContent = world.name;
    document.getElementById("about").textContent = `${countOf(world.nStates, world.maze ? "room" : "state")}, ` +
      `${countOf(world.nActions, "action")}, ${countOf(this.steps, "step")}. ${runs.map((run) => run.name).join(" · ")}`;
  }

  /** The runs, and the run of the person who took over, if there is one in the replay. */
  get sources() {
    return this.panels.map((panel) => panel.source);
  }

  /** Compute what depends on all runs: the levels of a race, and the ends of scales. */
  _sourcesChanged() {
    const { sources } = this;
    const largest = (values) => values.reduce((most, value) => Math.max(most, value), 0);
    this.steps = largest(sources.map((source) => source.nSteps));
    this.levels = raceLevels(sources);
    this.maxCurve = largest(sources.map((source) => largest(source.curve)));
    this.maxMissing = largest(sources.map((source) => source.largestMissing));
    document.getElementById("panels").dataset.n = sources.length;
  }

  /** Set the person who takes over; an earlier run of a person leaves the replay. */
  setPerson(person) {
    this.person = person;
    const kept = this.panels.filter((panel) => panel.source.colour);
    this.panels.filter((panel) => !kept.includes(panel)).forEach((panel) => panel.root.remove());
    this.panels = kept;
    this._sourcesChanged();
  }

  /** Show the run of the person in the replay, as "You", if it has steps of its own. */
  keepPerson() {
    if (this.person.nSteps === this.person.begin) this.person = null;
    else {
      const panel = new Panel(this, this.person);
      this.panels = [...this.panels, panel];
      document.getElementById("panels").append(panel.root);
    }
    this._sourcesChanged();
  }

  /** Return a run or a person as it is, or under the settings of the sliders, which apply to values. */
  viewOf(source) {
    if (this.shading !== "value") return source;
    const key = `${this.whatIf.depth} ${this.whatIf.alpha}`;
    if (!this.views.has(source) || this.views.get(source).key !== key) this.views.set(source, { key, view: underSettings(source, this.whatIf) });
    return this.views.get(source).view;
  }

  /** Whether there are so many panels that each is a column with curve and details below the map. */
  get hasColumns() {
    return innerWidth >= WIDE && this.visiblePanels.length > 2;
  }

  /** The largest height of a map, so that map, curve and details are on the screen; in a narrow frame, the map and its scale. */
  maxMapHeight(panel) {
    if (innerWidth < WIDE && parent === window) return Infinity;
    const screen = parent === window ? innerHeight : FRAME_HEIGHT;
    const top = document.getElementById("panels").offsetTop - (this.help.isOpen ? document.getElementById("help").offsetHeight : 0);
    if (innerWidth < WIDE) return innerWidth < PHONE ? 0.6 * screen : Math.min(Math.max(screen - top - BESIDE_MAP, 0.35 * screen), 0.6 * screen);
    const below = this.hasColumns ? BELOW_MAP.column : panel.map.isWide ? BELOW_MAP.wide : 0;
    return Math.max(screen - top - BESIDE_MAP - below, MIN_MAP_HEIGHT);
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
      const times = this.sources.map((other) => other.timeAt(this.level));
      const t = run.timeAt(this.level);
      const first = Math.min(...times.filter((time) => time >= 0));
      return { t: t < 0 ? run.nSteps : t, f: 0, level: this.level, reached: t >= 0, first: t === first };
    }
    const t = Math.min(this.index, run.nSteps);
    const walks = this.playing && this.speed <= MAX_SMOOTH_SPEED && !this.reducedMotion.matches && this.index < run.nSteps;
    return { t, f: walks ? this.position - this.index : 0, level: null };
  }

  /** Return the ends of a panel's colour scale: fixed for missing information, the range of values, else the range of zero and the current values. */
  scaleEnds(panel) {
    if (this.shading === "value") return this._rangeOfValues(panel);
    if (this.shading === "missing" && !panel.hidesTruth) return [0, this.maxMissing];
    if (panel.hidesTruth) panel.initialMax ??= Math.max(...panel.shade);
    if (this.shading === "missing") return [0, panel.initialMax];
    const comparable = panel.hidesTruth ? [panel]
      : this.panels.filter((other) => this.shading === "visits" || other.source.utilityInfo.name === panel.source.utilityInfo.name);
    return [Math.min, Math.max].map((extreme) => comparable.reduce((value, { shade }) => extreme(value, ...shade), 0));
  }

  /** Return the smallest and the largest value of a panel's states, without those in which no action counts. */
  _rangeOfValues(panel) {
    const counted = [...panel.shade].filter((_, s) => !this.world.uncounted.has(s));
    return counted.length ? [Math.min(...counted), Math.max(...counted)] : [0, 0];
  }

  get visiblePanels() {
    return this.taking ? [this.takeover.panel] : this.panels;
  }

  /** The ends of the axes of learning curves. While a person acts, they fit the contest. */
  get axes() {
    if (!this.taking) return { steps: [0, this.steps], bits: [0, this.maxCurve] };
    return contestAxes(this.runs, this.person);
  }

  get curveKey() {
    return `${theme()} ${this.taking} ${this.panels.length} ${JSON.stringify(this.axes)} ${this.person ? this.person.nSteps : ""}`;
  }

  /** Return the lines of a panel's learning curve: its own and those of the others. */
  linesFor(panel) {
    const sources = this.person && !this.sources.includes(this.person) ? [...this.sources, this.person] : this.sources;
    return sources.map((source) => ({ curve: source.curve, nSteps: source.nSteps, colour: sourceColour(source), dash: source.dash,
      own: panel.source === source, name: source.name }));
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
    document.getElementById("settings").hidden = kind !== "value";
    this.resize();
  }

  setArrows(kind) {
    this.arrowKind = kind;
    this.redraw();
  }

  /** Set the planning depth or alpha of the values that are shown; null for that of each strategy. */
  setWhatIf(changes) {
    Object.assign(this.whatIf, changes);
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
    this.takeover.begin(panel.source, this.moment(panel).t);
  }

  changed() {
    this.writeAddress();
    this.redraw();
    clearTimeout(this.announceTimer);
    this.announceTimer = setTimeout(() => this.announce(), 350);
  }

  get ramps() {
    return shadeRamps();
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
    this.help.update();
    showNote(this);
    const moments = this.visiblePanels.map((panel) => this.moment(panel));
    this.visiblePanels.forEach((panel, i) => panel.computeShades(moments[i]));
    this.visiblePanels.forEach((panel, i) => panel.draw(moments[i]));
    if (this.playing && now - this.detailsTime < DETAILS_INTERVAL) return;
    this.detailsTime = now;
    this.visiblePanels.forEach((panel, i) => panel.updateDetails(moments[i]));
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

  writeAddress() {
    if (!this.playing) writeAddress(this);
  }

  /** Read time, state and mode from the address. */
  readAddress() {
    this.pause();
    const { t, s, bits } = addressParts();
    this.pinned = s !== null && Number.isInteger(s) && s < this.world.nStates ? s : -1;
    this.mode = bits !== null ? "race" : "step";
    const level = bits === null ? -1 : this.levels.findIndex((value) => value <= bits);
    this.position = Math.min(bits !== null ? (level < 0 ? this.last : level) : Math.floor(t || 0), this.last);
    document.querySelector(`input[name=mode][value=${this.mode}]`).checked = true;
    this.redraw();
  }
}

window.berlyne = new App(JSON.parse(document.getElementById("data").textContent));
