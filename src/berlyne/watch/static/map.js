// Map of the world: shaded squares, or shaded states of a graph with arrows, with the agent and its trail.
import { cssColour, cssRgb, isLight, shadeColour } from "./colour.js";
import { addPath, arrowsOf, controlPoint, countArrowsPerState, drawArrows, fillHead, headOf, believedProbabilities, largestProbabilities, loopPath, pointAt } from "./edges.js";
import { drawNodeLabel } from "./labels.js";
import { drawBestAction, drawSquare, drawWalls } from "./rooms.js";

const TRAIL = 16; // steps

/** Return n positions on a circle, clockwise from the top, with distance 1 between neighbours. */
function circle(n) {
  const radius = n > 1 ? 0.5 / Math.sin(Math.PI / n) : 0;
  return Array.from({ length: n }, (_, s) => (2 * Math.PI * s) / n).flatMap((angle) => [radius * Math.sin(angle), -radius * Math.cos(angle)]);
}

export class WorldMap {
  /** person: the person who has taken over, to whom only prior knowledge is shown; null to show the truth. */
  constructor(canvas, world, person = null) {
    Object.assign(this, { canvas, world, person, context: canvas.getContext("2d") });
    this.places = person && world.laidOut ? circle(world.nStates) : world.places; // a layout reveals transitions
    const xs = this.places.filter((_, i) => i % 2 === 0);
    const ys = this.places.filter((_, i) => i % 2 === 1);
    const rim = world.isSquares ? 0.5 : 0;
    this.box = [Math.min(...xs) - rim, Math.min(...ys) - rim, Math.max(...xs) + rim, Math.max(...ys) + rim];
    this.nearest = this._nearest();
  }

  /** Whether the map is much wider than high, so that it needs the whole width of a panel. */
  get isWide() {
    const [x0, y0, x1, y1] = this.box;
    return x1 - x0 > 1.9 * (y1 - y0);
  }

  /** Return the smallest distance between two states. */
  _nearest() {
    const { places, world: { nStates } } = this;
    let smallest = Infinity;
    for (let s = 0; s < nStates; s += 1) {
      for (let z = 0; z < s; z += 1) {
        smallest = Math.min(smallest, Math.hypot(places[2 * s] - places[2 * z], places[2 * s + 1] - places[2 * z + 1]));
      }
    }
    return Number.isFinite(smallest) && smallest > 0 ? smallest : 1;
  }

  /** Fit the map to a width and a largest height in pixels, and draw the parts that do not change. */
  resize(width, maxHeight = Infinity) {
    const [x0, y0, x1, y1] = this.box;
    const squares = this.world.isSquares;
    const margin = squares ? 4 : Math.min(this.world.labelled ? 48 : 40, width * 0.1, Math.max(maxHeight * 0.13, 24));
    const inHeight = (Math.min(maxHeight, 1.05 * width) - 2 * margin) / Math.max(y1 - y0, 1e-9);
    this.unit = Math.min((width - 2 * margin) / Math.max(x1 - x0, 1e-9), inHeight, 0.6 * width);
    this.width = width;
    this.height = Math.max((y1 - y0) * this.unit + 2 * margin, 90);
    this.origin = [(width - (x1 - x0) * this.unit) / 2 - x0 * this.unit, (this.height - (y1 - y0) * this.unit) / 2 - y0 * this.unit];
    this.radius = squares ? this.unit / 2 : Math.max(Math.min(0.4 * this.nearest * this.unit, width / 20, this.world.labelled ? 30 : 20), 5);
    this.ratio = Math.min(devicePixelRatio || 1, 3);
    for (const [name, pixels] of [["width", width], ["height", this.height]]) {
      this.canvas[name] = Math.round(pixels * this.ratio);
      this.canvas.style[name] = `${pixels}px`;
    }
    this._drawBackground();
  }

  point(s) {
    const { places } = this;
    return [this.origin[0] + places[2 * s] * this.unit, this.origin[1] + places[2 * s + 1] * this.unit];
  }

  /** Return the path of a step, from centre to centre: an arc, or a loop for staying in a state of a graph. */
  path(s, sNext) {
    const [p, q] = [this.point(s), this.point(sNext)];
    if (s === sNext && !this.world.isSquares) return loopPath(p, this._outward(p), this.radius + Math.min(0.9 * this.radius, 16));
    if (this.world.isJump(s, sNext)) return [p, this._inward(p, q), q];
    return [p, controlPoint(p, q, this.world.isSquares ? 0 : 0.12), q];
  }

  /** Return the control point of a jump, which bends towards the middle of the map and does not leave the map. */
  _inward(p, q) {
    const distance = ([x, y]) => Math.hypot(x - this.width / 2, y - this.height / 2);
    const [left, right] = [0.28, -0.28].map((bend) => controlPoint(p, q, bend));
    return distance(left) <= distance(right) ? left : right;
  }

  /** Return the direction of a loop: away from the middle, up if states lie in a line, or sideways if a label is below. */
  _outward([x, y]) {
    const [x0, y0, x1, y1] = this.box;
    const [dx, dy] = [x - this.width / 2, y - this.height / 2];
    const far = Math.hypot(dx, dy);
    if (this.world.labelled && dy > 0.6 * far) return [dx < 0 ? -0.96 : 0.96, 0.28];
    return y1 - y0 < 0.2 * (x1 - x0) || far < 1 ? [0, -1] : [dx / far, dy / far];
  }

  _drawBackground() {
    this.background = document.createElement("canvas");
    this.background.width = this.canvas.width;
    this.background.height = this.canvas.height;
    const context = this.background.getContext("2d");
    context.scale(this.ratio, this.ratio);
    this.arrowCache = new Map();
    this.arrows = [];
    if (this.world.isSquares) drawWalls(context, this);
  }

  /** Return a note about the arrows that are drawn. */
  note(source, t, kind) {
    if (this.world.isSquares) return "";
    if (this.world.listed) return "States lie in rows, in the order of their numbers. Arrows show the last steps only.";
    const perState = countArrowsPerState(this.transitionProbabilities(source, t, kind), this.world.nStates);
    const which = kind === "true" && !this.person ? `${this.world.truthWord} transitions` : "transitions seen so far";
    return `Arrows: ${perState < Infinity ? `the ${perState} most probable ` : ""}${which}${perState < Infinity ? " from each state" : ""}.`;
  }

  /** Return the probabilities of arrows: true ones, or those that the explorer has seen; none if there are too many states. */
  transitionProbabilities(source, t, kind) {
    if (this.world.listed || this.world.isSquares) return new Map();
    if (kind === "true" && !this.person) this.truth ??= largestProbabilities(this.world);
    return kind === "true" && !this.person ? this.truth : believedProbabilities(source, t);
  }

  /**
   * Draw one moment.
   * shares: shade of each state, 0 to 1; source and t: run or person, and time; f: share of the next step that is done;
   * colour: of the agent; focus: the selected state, or -1; bestActions: the best action in each state, or null;
   * arrowKind: "believed" or "true".
   */
  draw({ shares, source, t, f, colour, focus, bestActions, arrowKind }) {
    const { context, world } = this;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    const trailOnTop = world.isSquares || world.listed; // else the trail goes from rim to rim, below the states
    if (!world.isSquares) {
      this.arrows = arrowsOf(this, this.transitionProbabilities(source, t, arrowKind));
      drawArrows(context, this.arrows, focus >= 0 ? focus : source.stateAt(t), world.nStates);
    }
    if (!trailOnTop) this._drawTrail(source, t, colour);
    for (let s = 0; s < world.nStates; s += 1) this._drawState(s, shares[s]);
    if (world.isSquares) context.drawImage(this.background, 0, 0, this.width, this.height);
    if (bestActions && world.isSquares) bestActions.forEach((a, s) => drawBestAction(context, this, s, a, shares[s]));
    if (trailOnTop) this._drawTrail(source, t, colour);
    if (focus >= 0) this._drawFocus(focus);
    this._drawAgent(source, t, f, colour);
  }

  _drawState(s, share) {
    const { context, world, radius } = this;
    if (world.isSquares) {
      drawSquare(context, this, s, share);
      return;
    }
    const [x, y] = this.point(s);
    const colour = shadeColour(share);
    context.fillStyle = cssRgb(colour);
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.fill();
    context.strokeStyle = cssColour("wall");
    context.lineWidth = world.terminal.has(s) ? 3 : 1;
    context.stroke();
    const room = { radius, gap: this.nearest * this.unit, nStates: world.nStates, width: this.width };
    drawNodeLabel(context, world.states[s], [x, y], isLight(colour) ? "#101114" : "#ffffff", room);
  }

  _drawTrail(source, t, colour) {
    const { context } = this;
    const first = Math.max(0, t - TRAIL);
    context.lineCap = "round";
    for (let i = first; i < t; i += 1) {
      const [s, sNext, now] = [source.states[i], source.nextStates[i], source.states[i + 1]];
      context.globalAlpha = 0.15 + 0.85 * ((i + 1 - first) / TRAIL) ** 1.5;
      const path = this.path(s, sNext);
      if (s !== sNext || !this.world.isSquares) this._stroke(path, colour, this.world.isJump(s, sNext) ? [5, 4] : [], 2.6);
      if (!this.world.isSquares) {
        context.fillStyle = colour;
        fillHead(context, headOf(path, this));
      }
      if (sNext !== now) this._stroke(this.path(sNext, now), cssColour("quiet"), [2, 4], 1.2, false); // a new episode or a relocation
    }
    context.globalAlpha = 1;
  }

  _stroke(path, colour, dashes, width, halo = true) {
    const { context } = this;
    context.setLineDash(dashes);
    for (const [stroke, wider] of [...(halo ? [[cssColour("halo"), 2]] : []), [colour, 0]]) {
      context.strokeStyle = stroke;
      context.lineWidth = width + wider;
      context.beginPath();
      addPath(context, path);
      context.stroke();
    }
    context.setLineDash([]);
  }

  _drawFocus(s) {
    const { context } = this;
    const [x, y] = this.point(s);
    for (const [colour, width] of [[cssColour("halo"), 5], [cssColour("ink"), 2.2]]) {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.beginPath();
      const inset = Math.min(4, 0.3 * this.radius);
      if (this.world.isSquares) context.rect(x - this.radius + inset, y - this.radius + inset, 2 * (this.radius - inset), 2 * (this.radius - inset));
      else context.arc(x, y, this.radius + 6, 0, 2 * Math.PI);
      context.stroke();
    }
  }

  _drawAgent(source, t, f, colour) {
    const { context } = this;
    const path = t < source.nSteps && f > 0 ? this.path(source.states[t], source.nextStates[t]) : null;
    const [x, y] = path ? pointAt(path, f) : this.point(source.stateAt(t));
    this.agent = [x, y];
    if (!path && !this.world.isSquares) {
      this._ring(x, y, this.radius + 2, cssColour("halo"), 7);
      this._ring(x, y, this.radius + 2, colour, 4.5);
      return;
    }
    const size = this.world.isSquares ? Math.max(Math.min(0.24 * this.unit, 11), 4) : Math.min(0.62 * this.radius, 9);
    context.beginPath();
    context.arc(x, y, size, 0, 2 * Math.PI);
    context.fillStyle = colour;
    context.fill();
    this._ring(x, y, size, cssColour("halo"), 2.5);
    this._ring(x, y, size + 1.6, cssColour("ink"), 1);
  }

  _ring(x, y, radius, colour, width) {
    const { context } = this;
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.stroke();
  }
}
