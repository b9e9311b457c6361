// Map of the world: shaded rooms with walls, or shaded states of a graph, with the agent and its trail.
import { cssColour, cssRgb, isLight, shadeColour } from "./colour.js";
import { addPath, arrowsOf, controlPoint, countArrowsPerState, drawArrows, fillHead, headOf, largestProbabilities, loopPath, pointAt } from "./edges.js";

const TRAIL = 16; // steps
const SIDES = [[-1, -1, 1, -1], [-1, 1, 1, 1], [-1, -1, -1, 1], [1, -1, 1, 1]]; // up, down, left, right

/** Fit a label into a width: smaller, in two lines, or cut off. Sets the font. */
function fitLabel(context, label, maxWidth) {
  const words = label.split(" ");
  const half = Math.ceil(words.length / 2);
  const broken = words.length > 1 ? [words.slice(0, half).join(" "), words.slice(half).join(" ")] : [label];
  for (const lines of [[label], broken]) {
    for (const size of [10, 9, 8]) {
      context.font = `${size}px system-ui, sans-serif`;
      if (lines.every((line) => context.measureText(line).width <= maxWidth)) return { lines, size };
    }
  }
  let cut = label;
  while (cut && context.measureText(`${cut}…`).width > maxWidth) cut = cut.slice(0, -1);
  return { lines: [`${cut}…`], size: 8 };
}

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
    this.box = world.maze ? [0, 0, world.maze.side, world.maze.side]
      : [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
    this.nearest = this._nearest();
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

  /** Fit the map to a width in pixels, and draw the parts that do not change. */
  resize(width) {
    const [x0, y0, x1, y1] = this.box;
    const margin = this.world.maze ? 4 : Math.min(this.world.labelled ? 48 : 40, width * 0.1);
    const across = Math.max(x1 - x0, (y1 - y0) / 1.05, 1e-9);
    this.unit = (width - 2 * margin) / across;
    this.width = width;
    this.height = Math.max((y1 - y0) * this.unit + 2 * margin, 90);
    this.origin = [(width - (x1 - x0) * this.unit) / 2 - x0 * this.unit, (this.height - (y1 - y0) * this.unit) / 2 - y0 * this.unit];
    this.radius = this.world.maze ? this.unit / 2 : Math.max(Math.min(0.4 * this.nearest * this.unit, width / 20, this.world.labelled ? 30 : 20), 5);
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
    if (s === sNext && !this.world.maze) return loopPath(p, this._outward(p), this.radius + Math.min(0.9 * this.radius, 16));
    if (this.world.isJump(s, sNext)) return [p, this._inward(p, q), q];
    return [p, controlPoint(p, q, this.world.maze ? 0 : 0.12), q];
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
    if (this.world.maze) this._drawWalls(context);
    else {
      this.arrows = arrowsOf(this, this._transitionProbabilities());
      drawArrows(context, this.arrows);
    }
  }

  _drawWalls(context) {
    const { side, passages, transporters, base } = this.world.maze;
    for (const [colour, width, open] of [["passage", 1, 1], ["wall-edge", 5.5, 0], ["wall", 3, 0]]) {
      context.strokeStyle = cssColour(colour);
      context.lineWidth = width;
      context.lineCap = open ? "butt" : "round";
      context.beginPath(); // one path for all, so that transparent lines are not drawn twice
      for (let s = 0; s < side * side; s += 1) {
        for (let d = 0; d < 4; d += 1) if (passages[4 * s + d] === open) this._alongSide(context, s, d);
      }
      context.stroke();
    }
    context.fillStyle = context.strokeStyle = cssColour("warp");
    for (let s = 0; s < side * side; s += 1) {
      if (this.mayJump(s)) this._drawDot(context, s);
      for (let d = 0; d < 4; d += 1) if (!this.person && transporters[4 * s + d]) this._drawTransporter(context, s, d);
    }
    const [x, y] = this.point(base);
    context.lineWidth = 2;
    for (const share of [0.32, 0.2]) {
      context.beginPath();
      context.arc(x, y, share * this.unit, 0, 2 * Math.PI);
      context.stroke();
    }
  }

  _alongSide(context, s, d) {
    const [x, y] = this.point(s);
    const [ax, ay, bx, by] = SIDES[d].map((c) => (c * this.unit) / 2);
    context.moveTo(x + ax, y + ay);
    context.lineTo(x + bx, y + by);
  }

  /** Whether a person knows that some action in a room may lead through a wall to the base. */
  mayJump(s) {
    const { world, person } = this;
    return Boolean(person) && world.isJump(s, world.maze.base) && person.support(world.row(0, s)).includes(world.maze.base);
  }

  _drawDot(context, s) {
    const [x, y] = this.point(s);
    context.beginPath();
    context.arc(x + 0.32 * this.unit, y + 0.32 * this.unit, 0.08 * this.unit, 0, 2 * Math.PI);
    context.fill();
  }

  /** Draw a wedge on the wall that points out of the room. */
  _drawTransporter(context, s, d) {
    const [x, y] = this.point(s);
    const [dx, dy] = [[0, -1], [0, 1], [-1, 0], [1, 0]][d];
    const [tip, back, half] = [0.46, 0.3, 0.15].map((share) => share * this.unit);
    context.beginPath();
    context.moveTo(x + dx * tip, y + dy * tip);
    context.lineTo(x + dx * back - dy * half, y + dy * back - dx * half);
    context.lineTo(x + dx * back + dy * half, y + dy * back + dx * half);
    context.fill();
  }

  /** Return a note about the arrows that are drawn, if not all are. */
  note() {
    if (this.world.listed) return "States lie in rows, in the order of their numbers. Arrows show the last steps only.";
    const perState = this.world.maze ? Infinity : countArrowsPerState(this._transitionProbabilities(), this.world.nStates);
    return perState < Infinity ? `Arrows show the ${perState} most probable transitions from each state.` : "";
  }

  /** Return the probabilities of transitions; none for a person, and none if there are too many states to draw arrows. */
  _transitionProbabilities() {
    return this.person || this.world.listed ? new Map() : largestProbabilities(this.world);
  }

  /**
   * Draw one moment.
   * shares: shade of each state, 0 to 1; source and t: run or person, and time; f: share of the next step that is done;
   * colour: of the agent; focus: the selected state, or -1; bestActions: the best action in each room, or null.
   */
  draw({ shares, source, t, f, colour, focus, bestActions }) {
    const { context, world } = this;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    const drawBackground = () => context.drawImage(this.background, 0, 0, this.width, this.height);
    const trailOnTop = world.maze || world.listed; // else the trail goes from rim to rim, below the states
    if (!world.maze) drawBackground();
    if (!trailOnTop) this._drawTrail(source, t, colour);
    for (let s = 0; s < world.nStates; s += 1) this._drawState(s, shares[s]);
    if (world.maze) drawBackground();
    if (bestActions) bestActions.forEach((a, s) => this._drawBestAction(s, a, shares[s]));
    if (trailOnTop) this._drawTrail(source, t, colour);
    if (focus >= 0) this._drawFocus(focus);
    this._drawAgent(source, t, f, colour);
  }

  _drawState(s, share) {
    const { context, world } = this;
    const [x, y] = this.point(s);
    const colour = shadeColour(share);
    context.fillStyle = cssRgb(colour);
    if (world.maze) {
      context.fillRect(x - this.radius - 0.3, y - this.radius - 0.3, 2 * this.radius + 0.6, 2 * this.radius + 0.6);
      if (!world.terminal.has(s)) return;
    } else {
      context.beginPath();
      context.arc(x, y, this.radius, 0, 2 * Math.PI);
      context.fill();
      context.strokeStyle = cssColour("wall");
      context.lineWidth = world.terminal.has(s) ? 3 : 1;
      context.stroke();
    }
    this._drawLabel(world.maze ? "end" : world.states[s], x, y, isLight(colour) ? "#101114" : "#ffffff");
  }

  /** Draw the label inside the state; below it if it is long; smaller if there is no room; not at all if states are small and many. */
  _drawLabel(label, x, y, colour) {
    const { context } = this;
    context.font = `${Math.min(12, Math.max(this.radius * 0.85, 9))}px system-ui, sans-serif`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    const fits = context.measureText(label).width <= 1.8 * this.radius;
    if (this.radius < 8 && (!fits || this.world.nStates > 60)) return;
    if (fits) {
      context.fillStyle = colour;
      context.fillText(label, x, y + 0.5);
      return;
    }
    if (this.nearest * this.unit < 2 * this.radius + 16) { // no room between neighbouring states
      const { lines, size } = fitLabel(context, label, 1.8 * this.radius);
      context.fillStyle = colour;
      lines.forEach((line, i) => context.fillText(line, x, y + 0.5 + (i - (lines.length - 1) / 2) * 1.1 * size));
      return;
    }
    const text = label.length > 16 ? `${label.slice(0, 15)}…` : label;
    const half = context.measureText(text).width / 2;
    const centre = Math.min(Math.max(x, half + 3), this.width - half - 3);
    context.lineWidth = 4;
    context.lineJoin = "round";
    context.strokeStyle = cssColour("paper");
    context.strokeText(text, centre, y + this.radius + 12);
    context.fillStyle = cssColour("ink");
    context.fillText(text, centre, y + this.radius + 12);
  }

  /** Draw an arrow in the direction of the best action in a room; none if several are best. */
  _drawBestAction(s, a, share) {
    if (a < 0 || this.world.terminal.has(s)) return;
    const { context } = this;
    const [x, y] = this.point(s);
    const [dx, dy] = [[0, -1], [0, 1], [-1, 0], [1, 0]][a];
    const [length, head] = [0.2 * this.unit, 0.09 * this.unit];
    context.strokeStyle = isLight(shadeColour(share)) ? "#101114" : "#ffffff";
    context.lineWidth = 1.6;
    context.beginPath();
    context.moveTo(x - dx * length, y - dy * length);
    context.lineTo(x + dx * length, y + dy * length);
    context.moveTo(x + dx * (length - head) - dy * head, y + dy * (length - head) - dx * head);
    context.lineTo(x + dx * length, y + dy * length);
    context.lineTo(x + dx * (length - head) + dy * head, y + dy * (length - head) + dx * head);
    context.stroke();
  }

  _drawTrail(source, t, colour) {
    const { context } = this;
    const first = Math.max(0, t - TRAIL);
    context.lineCap = "round";
    for (let i = first; i < t; i += 1) {
      const [s, sNext, now] = [source.states[i], source.nextStates[i], source.states[i + 1]];
      context.globalAlpha = 0.15 + 0.85 * ((i + 1 - first) / TRAIL) ** 1.5;
      const path = this.path(s, sNext);
      if (s !== sNext || !this.world.maze) this._stroke(path, colour, this.world.isJump(s, sNext) ? [5, 4] : [], 2.6);
      if (!this.world.maze) {
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
      if (this.world.maze) context.rect(x - this.radius + 4, y - this.radius + 4, 2 * this.radius - 8, 2 * this.radius - 8);
      else context.arc(x, y, this.radius + 6, 0, 2 * Math.PI);
      context.stroke();
    }
  }

  _drawAgent(source, t, f, colour) {
    const { context } = this;
    const path = t < source.nSteps && f > 0 ? this.path(source.states[t], source.nextStates[t]) : null;
    const [x, y] = path ? pointAt(path, f) : this.point(source.stateAt(t));
    this.agent = [x, y];
    if (!path && !this.world.maze) {
      this._ring(x, y, this.radius + 2, cssColour("halo"), 7);
      this._ring(x, y, this.radius + 2, colour, 4.5);
      return;
    }
    const size = this.world.maze ? Math.min(0.24 * this.unit, 11) : Math.min(0.62 * this.radius, 9);
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
