// Play, pause, step, speed and time, by pointer and by keyboard.
import { formatExact } from "./colour.js";

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
    for (const name of ["play", "back", "forward", "slider", "place", "speed", "replay", "pad"]) {
      this[name] = document.getElementById(name);
    }
    this.play.addEventListener("click", () => app.toggle());
    this.back.addEventListener("click", () => app.step(-1));
    this.forward.addEventListener("click", () => app.step(1));
    this.slider.addEventListener("input", () => app.seek(Number(this.slider.value)));
    this.speed.addEventListener("change", () => { app.speed = Number(this.speed.value); });
    app.speed = Number(this.speed.value);
    this.speed.addEventListener("change", releaseFocus);
    for (const radio of document.querySelectorAll("input[type=radio]")) {
      radio.addEventListener("change", () => (radio.name === "show" ? app.setShading(radio.value) : app.setMode(radio.value)));
      radio.addEventListener("click", releaseFocus);
    }
    addEventListener("keydown", (event) => this._key(event));
  }

  _key(event) {
    const { app } = this;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (app.taking) {
      app.handleKey(event);
      return;
    }
    const { target } = event;
    if (target.matches && (RESERVED_KEYS[target.type] || []).includes(event.key)) return;
    const action = {
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
