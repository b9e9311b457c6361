// Learning curve: missing information by step, with the curves of the other runs behind it.
import { cssColour } from "./colour.js";

const HEIGHT = 150;
const EDGE = { right: 10, top: 8, bottom: 30 };
const MIN_LEFT = 38; // so that curves of few bits have the same left edge
const GAP = 6; // between a number and its line
const FONT = "11px system-ui, sans-serif";

/** Format bits for the axis. */
const formatTick = (bits) => Number(bits.toPrecision(6)).toLocaleString("en");

/** Return a few round numbers from 0 to `max`, at least `minStep` apart. */
export function ticks(max, wanted = 3, minStep = 0) {
  if (!(max > 0)) return [0];
  const rough = Math.max(max / wanted, minStep);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999);
  return Array.from({ length: Math.floor(max / step + 1e-9) + 1 }, (_, i) => i * step);
}

export class Curve {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
  }

  resize(width) {
    this.width = width;
    this.ratio = Math.min(devicePixelRatio || 1, 3);
    this.canvas.width = Math.round(width * this.ratio);
    this.canvas.height = Math.round(HEIGHT * this.ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${HEIGHT}px`;
    this.key = null;
  }

  /** Return the time at a horizontal position on the canvas. */
  timeAt(x) {
    const share = (x - this.left) / (this.width - this.left - EDGE.right);
    return Math.round(Math.min(Math.max(share, 0), 1) * this.axisMax.steps);
  }

  /** Set the left edge of the curve so that all numbers of the axis fit. */
  _fit() {
    if (this.fittedBits === this.axisMax.bits) return;
    this.fittedBits = this.axisMax.bits;
    this.context.font = FONT;
    const widest = Math.max(...ticks(this.axisMax.bits).map((bits) => this.context.measureText(formatTick(bits)).width));
    this.left = Math.max(MIN_LEFT, Math.ceil(widest) + GAP + 2);
  }

  toPixels(t, bits) {
    return [
      this.left + (t / Math.max(this.axisMax.steps, 1)) * (this.width - this.left - EDGE.right),
      EDGE.top + (1 - bits / this.axisMax.bits) * (HEIGHT - EDGE.top - EDGE.bottom),
    ];
  }

  /**
   * Draw the curves and the cursor.
   * lines: [{curve, nSteps, colour, dash, own}]; t: time of the cursor; level: bits of the line of a race, or null.
   * Parts that do not move are drawn once for each `key`.
   */
  draw({ lines, axisMax, t, level, key }) {
    this.axisMax = { ...axisMax, bits: Math.max(axisMax.bits, 1e-9) };
    this._fit();
    if (key !== this.key) this._drawBackground(lines);
    this.key = key;
    const { context } = this;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, HEIGHT);
    context.drawImage(this.background, 0, 0, this.width, HEIGHT);
    const own = lines.find((line) => line.own);
    const [x, y] = this.toPixels(t, own.curve[Math.min(t, own.nSteps)]);
    context.strokeStyle = cssColour("ink");
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(x, EDGE.top);
    context.lineTo(x, HEIGHT - EDGE.bottom);
    if (level !== null) {
      const height = this.toPixels(0, level)[1];
      context.moveTo(this.left, height);
      context.lineTo(this.width - EDGE.right, height);
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
    for (const bits of ticks(this.axisMax.bits)) {
      const [x, y] = this.toPixels(0, bits);
      context.beginPath();
      context.moveTo(x, y);
      context.lineTo(this.width - EDGE.right, y);
      context.stroke();
      context.fillText(formatTick(bits), x - GAP, y);
    }
    context.textBaseline = "top";
    for (const t of ticks(this.axisMax.steps, this.width < 330 ? 3 : 5, 1)) {
      context.textAlign = t === 0 ? "left" : this.toPixels(t, 0)[0] > this.width - 26 ? "right" : "center";
      context.fillText(t.toLocaleString("en"), this.toPixels(t, 0)[0], HEIGHT - EDGE.bottom + 4);
    }
    context.textAlign = "left";
    context.fillText("bits missing, by step", this.left, HEIGHT - 12);
  }

  _drawLine(context, { curve, nSteps, colour, dash, own }) {
    context.strokeStyle = colour;
    context.globalAlpha = own ? 1 : 0.55;
    context.lineWidth = own ? 2.2 : 1.2;
    context.lineJoin = "round";
    context.setLineDash(dash);
    context.beginPath();
    const stride = Math.max(1, Math.floor(nSteps / (2 * this.width)));
    for (let t = 0; t <= nSteps; t += stride) context.lineTo(...this.toPixels(t, curve[t]));
    context.lineTo(...this.toPixels(nSteps, curve[nSteps]));
    context.stroke();
    context.setLineDash([]);
    context.globalAlpha = 1;
  }
}
