// A learning curve: missing information against steps, with those of the others behind it.
import { styled } from "./colour.js";

const HEIGHT = 150;
const EDGE = { right: 10, top: 8, bottom: 30 };
const LEFT = 38; // at least so much, so that curves of few bits have the same place
const GAP = 6; // between a number and the line that it stands for
const FONT = "11px system-ui, sans-serif";

/** Bits as they are written at the axis. */
const written = (bits) => Number(bits.toPrecision(6)).toLocaleString("en");

/** Few round numbers from 0 to `most`, at least `finest` apart. */
export function ticks(most, wanted = 3, finest = 0) {
  if (!(most > 0)) return [0];
  const rough = Math.max(most / wanted, finest);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999);
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, i) => i * step);
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

  /** The time that a place across the canvas stands for. */
  timeAt(x) {
    const share = (x - this.left) / (this.width - this.left - EDGE.right);
    return Math.round(Math.min(Math.max(share, 0), 1) * this.most.steps);
  }

  /** The left edge of the curve: all numbers of the axis have room before it. */
  _fit() {
    if (this.fitted === this.most.bits) return;
    this.fitted = this.most.bits;
    this.context.font = FONT;
    const widest = Math.max(...ticks(this.most.bits).map((bits) => this.context.measureText(written(bits)).width));
    this.left = Math.max(LEFT, Math.ceil(widest) + GAP + 2);
  }

  place(t, bits) {
    return [
      this.left + (t / Math.max(this.most.steps, 1)) * (this.width - this.left - EDGE.right),
      EDGE.top + (1 - bits / this.most.bits) * (HEIGHT - EDGE.top - EDGE.bottom),
    ];
  }

  /**
   * lines: [{curve, nSteps, colour, dash, own}]; t: time of the cursor; level: bits of the line of a race, or null.
   * What does not move is drawn once for each `key`.
   */
  draw({ lines, most, t, level, key }) {
    this.most = { ...most, bits: Math.max(most.bits, 1e-9) };
    this._fit();
    if (key !== this.key) this._drawStill(lines);
    this.key = key;
    const { context } = this;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, HEIGHT);
    context.drawImage(this.still, 0, 0, this.width, HEIGHT);
    const own = lines.find((line) => line.own);
    const [x, y] = this.place(t, own.curve[Math.min(t, own.nSteps)]);
    context.strokeStyle = styled("ink");
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(x, EDGE.top);
    context.lineTo(x, HEIGHT - EDGE.bottom);
    if (level !== null) {
      const across = this.place(0, level)[1];
      context.moveTo(this.left, across);
      context.lineTo(this.width - EDGE.right, across);
    }
    context.stroke();
    context.beginPath();
    context.arc(x, y, 4.5, 0, 2 * Math.PI);
    context.fillStyle = own.colour;
    context.fill();
    context.strokeStyle = styled("paper");
    context.lineWidth = 1.5;
    context.stroke();
  }

  _drawStill(lines) {
    this.still = document.createElement("canvas");
    this.still.width = this.canvas.width;
    this.still.height = this.canvas.height;
    const context = this.still.getContext("2d");
    context.scale(this.ratio, this.ratio);
    this._drawAxes(context);
    for (const line of [...lines].sort((one, other) => one.own - other.own)) this._drawLine(context, line);
  }

  _drawAxes(context) {
    context.font = FONT;
    context.fillStyle = styled("quiet");
    context.strokeStyle = styled("line");
    context.lineWidth = 1;
    context.textBaseline = "middle";
    context.textAlign = "right";
    for (const bits of ticks(this.most.bits)) {
      const [x, y] = this.place(0, bits);
      context.beginPath();
      context.moveTo(x, y);
      context.lineTo(this.width - EDGE.right, y);
      context.stroke();
      context.fillText(written(bits), x - GAP, y);
    }
    context.textBaseline = "top";
    for (const t of ticks(this.most.steps, this.width < 330 ? 3 : 5, 1)) {
      context.textAlign = t === 0 ? "left" : this.place(t, 0)[0] > this.width - 26 ? "right" : "center";
      context.fillText(t.toLocaleString("en"), this.place(t, 0)[0], HEIGHT - EDGE.bottom + 4);
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
    for (let t = 0; t <= nSteps; t += stride) context.lineTo(...this.place(t, curve[t]));
    context.lineTo(...this.place(nSteps, curve[nSteps]));
    context.stroke();
    context.setLineDash([]);
    context.globalAlpha = 1;
  }
}
