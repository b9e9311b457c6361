// Play, pause, step, speed and time, by pointer and by keyboard.
import { formatExact } from "./numbers.js";
import { canChangeAlpha, canPlan } from "./whatif.js";

const N_LEVELS = 400; // approximate number of levels of a race
const SIDEWAYS = ["ArrowLeft", "ArrowRight"];
const ENDS = ["Home", "End"];
const RESERVED_KEYS = { // keys that a control handles itself
  button: [" "], radio: SIDEWAYS, range: [...SIDEWAYS, ...ENDS], "select-one": [" ", ...SIDEWAYS, ...ENDS],
};

/** Return the levels of a race in bits: round numbers, from the missing information at the start down to the smallest that any run reached. */
export function raceLevels(runs) {
  const top = Math.max(...runs.map((run) => run.curve[0]));
  const low = Math.min(...runs.map((run) => run.lowest[run.nSteps]));
  const rough = Math.max(top - low, 1e-6) / N_LEVELS;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
  const first = Math.floor(top / step + 1e-9);
  const last = Math.max(Math.ceil(low / step - 1e-9), 0);
  const levels = [];
  for (let i = first; i >= last; i -= 1) levels.push(Number((i * step).toPrecision(12)));
  return levels.length ? levels : [top];
}

/** Remove the focus from a control that was used by pointer, so that keys control playback again. */
function releaseFocus({ currentTarget }) {
  if (!currentTarget.matches(":focus-visible")) currentTarget.blur();
}

export class Controls {
  constructor(app) {
    this.app = app;
    for (const name of ["play", "back", "forward", "slider", "place", "speed", "settings", "depth", "alpha", "arrows"]) {
      this[name] = document.getElementById(name);
    }
    if (app.world.estimated) this.arrows.querySelector('[value="true"] + span').textContent = "Final";
    this.arrows.hidden = app.world.isSquares || app.world.listed;
    this.play.addEventListener("click", () => app.toggle());
    this.back.addEventListener("click", () => app.step(-1));
    this.forward.addEventListener("click", () => app.step(1));
    this.slider.addEventListener("input", () => app.seek(Number(this.slider.value)));
    this.speed.addEventListener("change", () => { app.speed = Number(this.speed.value); });
    app.speed = Number(this.speed.value);
    this.speed.addEventListener("change", releaseFocus);
    for (const radio of document.querySelectorAll("input[type=radio]")) {
      const set = { show: (value) => app.setShading(value), mode: (value) => app.setMode(value), arrows: (value) => app.setArrows(value) }[radio.name];
      radio.addEventListener("change", () => set(radio.value));
      radio.addEventListener("click", releaseFocus);
    }
    addEventListener("keydown", (event) => this._key(event));
    this._listenToSettings();
  }

  /** Set up the sliders of planning depth and alpha, where the page can compute values itself. */
  _listenToSettings() {
    const { app } = this;
    const [planned, changeable] = [app.runs.filter(canPlan), app.runs.filter(canChangeAlpha)];
    document.getElementById("depth-choice").hidden = !planned.length;
    document.getElementById("alpha-choice").hidden = !changeable.length;
    document.getElementById("own-settings").hidden = !planned.length;
    this.ownDepth = Math.max(0, ...planned.map(({ method }) => method.steps_back || 0));
    this.ownAlpha = changeable.length ? changeable[0].belief.alpha : 1;
    const exponent = Math.log10(this.ownAlpha);
    Object.assign(this.alpha, { min: Math.min(-3, exponent), max: Math.max(1, exponent) });
    this.depth.max = Math.max(30, this.ownDepth);
    this._showOwnSettings();
    this.depth.addEventListener("input", () => app.setWhatIf({ depth: Number(this.depth.value) }));
    this.alpha.addEventListener("input", () => app.setWhatIf({ alpha: Number((10 ** Number(this.alpha.value)).toPrecision(2)) }));
    document.getElementById("own-settings").addEventListener("click", () => {
      app.setWhatIf({ depth: null, alpha: null });
      this._showOwnSettings();
    });
  }

  _showOwnSettings() {
    this.depth.value = this.ownDepth;
    this.alpha.step = "any";
    this.alpha.value = Math.log10(this.ownAlpha);
  }

  _updateSettings() {
    const { app } = this;
    this.settings.hidden = app.shading !== "value";
    const { depth, alpha } = app.whatIf;
    const depthText = depth === null ? "as each strategy plans" : depth === 0 ? "0: the next step only" : `${depth} more step${depth === 1 ? "" : "s"}`;
    const alphaText = alpha === null ? `${formatExact(Number(this.ownAlpha.toPrecision(3)))}, its own` : formatExact(alpha);
    document.getElementById("depth-text").textContent = depthText;
    document.getElementById("alpha-text").textContent = alphaText;
    this.depth.setAttribute("aria-valuetext", depthText);
    this.alpha.setAttribute("aria-valuetext", alphaText);
  }

  _key(event) {
    const { app } = this;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (app.taking && !(["?", "Escape"].includes(event.key) && event.target.type !== "text")) {
      app.takeover.handleKey(event);
      return;
    }
    const { target } = event;
    if (target.matches && (RESERVED_KEYS[target.type] || []).includes(event.key)) return;
    const action = {
      "?": () => app.help.toggle(),
      Escape: () => app.help.toggle(false),
      " ": () => app.toggle(),
      ArrowLeft: () => app.step(event.shiftKey ? -10 : -1),
      ArrowRight: () => app.step(event.shiftKey ? 10 : 1),
      Home: () => app.seek(0),
      End: () => app.seek(app.last),
    }[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  /** Show the current time or level. */
  update() {
    const { app } = this;
    this._updateSettings();
    this.slider.max = app.last;
    this.slider.value = app.index;
    const text = app.mode === "race" ? `race to ${formatExact(app.level)} bits` : `step ${app.index.toLocaleString("en")} of ${app.last.toLocaleString("en")}`;
    if (this.place.textContent !== text) this.place.textContent = text;
    this.slider.setAttribute("aria-valuetext", text);
    this.slider.setAttribute("aria-label", app.mode === "race" ? "Race to" : "Time");
    const name = app.playing ? "Pause" : "Play";
    if (this.play.getAttribute("aria-label") === name) return;
    this.play.setAttribute("aria-label", name);
    this.play.classList.toggle("playing", app.playing);
  }
}
