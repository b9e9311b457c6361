// Learning curve: missing information by step, with the curves of the other runs behind it.
import { cssColour } from "./colour.js";

const HEIGHTS = { usual: 132, small: 94 };
const EDGE = { right: 10, top: 8, bottom: 30 };
const MIN_LEFT = 38; // so that curves of few bits have the same left edge
const GAP = 6; // between a number and its line
const FONT = "11px system-ui, sans-serif";

/** Format bits for the axis. */
const formatTick = (bits) => Number(bits.toPrecision(6)).toLocaleString("en");

/** Return a few round numbers from `low` to `top`, at least `minStep` apart. */
export function ticks([low, top], wanted = 3, minStep = 0) {
  if (!(top > low)) return [low];
  const rough = Math.max((top - low) / wanted, minStep);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999);
  const first = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.floor(top / step + 1e-9) - first + 1 }, (_, i) => (first + i) * step);
}

/** Return the ends of the axes of a contest: from where the person began to a little beyond now, and the bits that occur there. */
export function contestAxes(runs, { begin, nSteps, curve: own }) {
  const last = begin + Math.max(60, Math.ceil(((nSteps - begin) * 1.25) / 20) * 20);
  let [low, top] = [Infinity, 0];
  for (const curve of [...runs.map((run) => run.curve), own]) {
    for (let t = begin; t <= last && t < curve.length; t += 1) [low, top] = [Math.min(low, curve[t]), Math.max(top, curve[t])];
  }
  const rim = Math.max(0.06 * (top - low), 0.01 * top);
  return { steps: [begin, last], bits: [Math.max(low - rim, 0), top + rim] };
}

export class Curve {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
  }

  /** Fit the curve to a width in pixels; it is lower if it is small. */
  resize(width, isSmall = false) {
    this.width = width;
    this.height = isSmall ? HEIGHTS.small : HEIGHTS.usual;
    this.ratio = Math.min(devicePixelRatio || 1, 3);
    this.canvas.width = Math.round(width * this.ratio);
    this.canvas.height = Math.round(this.height * this.ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${this.height}px`;
    this.key = null;
  }

  /** Return the time at a horizontal position on the canvas. */
  timeAt(x) {
    const share = (x - this.left) / (this.width - this.left - EDGE.right);
    const [first, last] = this.axes.steps;
    return Math.round(first + Math.min(Math.max(share, 0), 1) * (last - first));
  }

  /** Set the left edge of the curve so that all numbers of the axis fit. */
  _fit() {
    const fitted = this.axes.bits.join(" ");
    if (this.fittedBits === fitted) return;
    this.fittedBits = fitted;
    this.context.font = FONT;
    const widest = Math.max(...ticks(this.axes.bits).map((bits) => this.context.measureText(formatTick(bits)).width));
    this.left = Math.max(MIN_LEFT, Math.ceil(widest) + GAP + 2);
  }

  toPixels(t, bits) {
    const { steps: [first, last], bits: [low, top] } = this.axes;
    return [
      this.left + ((t - first) / Math.max(last - first, 1)) * (this.width - this.left - EDGE.right),
      EDGE.top + (1 - (bits - low) / (top - low)) * (this.height - EDGE.top - EDGE.bottom),
    ];
  }

  /**
   * Draw the curves and the cursor.
   * lines: [{curve, nSteps, colour, dash, own}]; axes: {steps: [first, last], bits: [low, top]}; t: time of the cursor;
   * level: bits of the line of a race, or null.
   * Parts that do not move are drawn once for each `key`.
   */
  draw({ lines, axes, t, level, key }) {
    const [low, top] = axes.bits;
    this.axes = { ...axes, bits: [low, Math.max(top, low + 1e-9)] };
    this._fit();
    if (key !== this.key) this._drawBackground(lines);
    this.key = key;
    const { context } = this;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.drawImage(this.background, 0, 0, this.width, this.height);
    const own = lines.find((line) => line.own);
    const [x, y] = this.toPixels(t, own.curve[Math.min(t, own.nSteps)]);
    context.strokeStyle = cssColour("ink");
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(x, EDGE.top);
    context.lineTo(x, this.height - EDGE.bottom);
    if (level !== null) {
      const height = this.toPixels(0, level)[1];
      context.moveTo(this.left, Math.max(height, EDGE.top));
      context.lineTo(this.width - EDGE.right, Math.max(height, EDGE.top));
    }
    context.stroke();
    context.beginPath();
    context.arc(x, y, 4.5, 0, 2 * Math.PI);
    context.fillStyle = own.colour;
    context.fill();
    context.strokeStyle = cssColour("paper");
    context.lineWidth = 1.5;
    context.stroke();
  }

  _drawBackground(lines) {
    this.background = document.createElement("canvas");
    this.background.width = this.canvas.width;
    this.background.height = this.canvas.height;
    const context = this.background.getContext("2d");
    context.scale(this.ratio, this.ratio);
    this._drawAxes(context);
    for (const line of [...lines].sort((a, b) => a.own - b.own)) this._drawLine(context, line);
  }

  _drawAxes(context) {
    context.font = FONT;
    context.fillStyle = cssColour("quiet");
    context.strokeStyle = cssColour("line");
    context.lineWidth = 1;
    context.textBaseline = "middle";
    context.textAlign = "right";
    for (const bits of ticks(this.axes.bits)) {
      const [x, y] = this.toPixels(this.axes.steps[0], bits);
      context.beginPath();
      context.moveTo(x, y);
      context.lineTo(this.width - EDGE.right, y);
      context.stroke();
      context.fillText(formatTick(bits), x - GAP, y);
    }
    context.textBaseline = "top";
    for (const t of ticks(this.axes.steps, this.width < 330 ? 3 : 5, 1)) {
      context.textAlign = t === this.axes.steps[0] ? "left" : this.toPixels(t, 0)[0] > this.width - 26 ? "right" : "center";
      context.fillText(t.toLocaleString("en"), this.toPixels(t, 0)[0], this.height - EDGE.bottom + 4);
    }
    context.textAlign = "left";
    context.fillText("bits missing, by step", this.left, this.height - 12);
  }

  _drawLine(context, { curve, nSteps, colour, dash, own }) {
    context.strokeStyle = colour;
    context.globalAlpha = own ? 1 : 0.55;
    context.lineWidth = own ? 2.2 : 1.2;
    context.lineJoin = "round";
    context.setLineDash(dash);
    context.beginPath();
    const [first, last] = [this.axes.steps[0], Math.min(nSteps, this.axes.steps[1])];
    if (last < first) return;
    const stride = Math.max(1, Math.floor((last - first) / (2 * this.width)));
    for (let t = first; t <= last; t += stride) context.lineTo(...this.toPixels(t, curve[t]));
    context.lineTo(...this.toPixels(last, curve[last]));
    context.stroke();
    context.setLineDash([]);
    context.globalAlpha = 1;
  }
}
