// The world seen from above: rooms with walls, or states of a graph, shaded; the agent, and where it came from.
import { css, isLight, shadeColour, styled } from "./colour.js";
import { along, arrowsOf, drawArrows, eachOf, fillHead, headOf, likelyOf, loop, swerved, trace } from "./edges.js";

const TRAIL = 16;
const SIDES = [[-1, -1, 1, -1], [-1, 1, 1, 1], [-1, -1, -1, 1], [1, -1, 1, 1]]; // up, down, left, right

/** A label in a width: smaller, in two lines, or cut off; leaves the font set. */
function fitted(context, label, wide) {
  const words = label.split(" ");
  const half = Math.ceil(words.length / 2);
  const broken = words.length > 1 ? [words.slice(0, half).join(" "), words.slice(half).join(" ")] : [label];
  for (const lines of [[label], broken]) {
    for (const size of [10, 9, 8]) {
      context.font = `${size}px system-ui, sans-serif`;
      if (lines.every((line) => context.measureText(line).width <= wide)) return { lines, size };
    }
  }
  let cut = label;
  while (cut && context.measureText(`${cut}…`).width > wide) cut = cut.slice(0, -1);
  return { lines: [`${cut}…`], size: 8 };
}

/** So many places on a circle, clockwise from the top, neighbours 1 apart. */
function circle(n) {
  const radius = n > 1 ? 0.5 / Math.sin(Math.PI / n) : 0;
  return Array.from({ length: n }, (_, s) => (2 * Math.PI * s) / n).flatMap((angle) => [radius * Math.sin(angle), -radius * Math.cos(angle)]);
}

export class WorldMap {
  /** person: who has taken over, and is shown only what the prior says; null if the truth is shown. */
  constructor(canvas, world, person = null) {
    Object.assign(this, { canvas, world, person, context: canvas.getContext("2d") });
    this.places = person && world.laidOut ? circle(world.nStates) : world.places; // a layout tells what leads where
    const xs = this.places.filter((_, i) => i % 2 === 0);
    const ys = this.places.filter((_, i) => i % 2 === 1);
    this.box = world.maze ? [0, 0, world.maze.side, world.maze.side]
      : [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
    this.nearest = this._nearest();
  }

  /** The least distance between two states. */
  _nearest() {
    const { places, world: { nStates } } = this;
    let least = Infinity;
    for (let s = 0; s < nStates; s += 1) {
      for (let z = 0; z < s; z += 1) {
        least = Math.min(least, Math.hypot(places[2 * s] - places[2 * z], places[2 * s + 1] - places[2 * z + 1]));
      }
    }
    return Number.isFinite(least) && least > 0 ? least : 1;
  }

  /** Fit into so many pixels across; draws what does not change. */
  resize(width) {
    const [x0, y0, x1, y1] = this.box;
    const margin = this.world.maze ? 4 : Math.min(this.world.labelled ? 48 : 40, width * 0.1);
    const across = Math.max(x1 - x0, (y1 - y0) / 1.05, 1e-9);
    this.unit = (width - 2 * margin) / across;
    this.width = width;
    this.height = Math.max((y1 - y0) * this.unit + 2 * margin, 90);
    this.origin = [(width - (x1 - x0) * this.unit) / 2 - x0 * this.unit, (this.height - (y1 - y0) * this.unit) / 2 - y0 * this.unit];
    this.reach = this.world.maze ? this.unit / 2 : Math.max(Math.min(0.4 * this.nearest * this.unit, width / 20, this.world.labelled ? 30 : 20), 5);
    this.ratio = Math.min(devicePixelRatio || 1, 3);
    for (const [name, pixels] of [["width", width], ["height", this.height]]) {
      this.canvas[name] = Math.round(pixels * this.ratio);
      this.canvas.style[name] = `${pixels}px`;
    }
    this._drawStill();
  }

  point(s) {
    const { places } = this;
    return [this.origin[0] + places[2 * s] * this.unit, this.origin[1] + places[2 * s + 1] * this.unit];
  }

  /** The way of a step, from centre to centre: an arc, or a loop where one stays in a state of a graph. */
  way(s, sNext) {
    const [p, q] = [this.point(s), this.point(sNext)];
    if (s === sNext && !this.world.maze) return loop(p, this._outward(p), this.reach + Math.min(0.9 * this.reach, 16));
    if (this.world.isJump(s, sNext)) return [p, this._inward(p, q), q];
    return [p, swerved(p, q, this.world.maze ? 0 : 0.12), q];
  }

  /** The control point of a jump: it swerves towards the middle of the map, and does not leave it. */
  _inward(p, q) {
    const far = ([x, y]) => Math.hypot(x - this.width / 2, y - this.height / 2);
    const [one, other] = [0.28, -0.28].map((bend) => swerved(p, q, bend));
    return far(one) <= far(other) ? one : other;
  }

  /** Which way a loop points: away from the middle, or up where states lie in a line; aside where a label is below. */
  _outward([x, y]) {
    const [x0, y0, x1, y1] = this.box;
    const [dx, dy] = [x - this.width / 2, y - this.height / 2];
    const far = Math.hypot(dx, dy);
    if (this.world.labelled && dy > 0.6 * far) return [dx < 0 ? -0.96 : 0.96, 0.28];
    return y1 - y0 < 0.2 * (x1 - x0) || far < 1 ? [0, -1] : [dx / far, dy / far];
  }

  _drawStill() {
    this.still = document.createElement("canvas");
    this.still.width = this.canvas.width;
    this.still.height = this.canvas.height;
    const context = this.still.getContext("2d");
    context.scale(this.ratio, this.ratio);
    if (this.world.maze) this._drawWalls(context);
    else {
      this.arrows = arrowsOf(this, this._likely());
      drawArrows(context, this.arrows);
    }
  }

  _drawWalls(context) {
    const { side, passages, transporters, base } = this.world.maze;
    for (const [colour, width, open] of [["passage", 1, 1], ["wall-edge", 5.5, 0], ["wall", 3, 0]]) {
      context.strokeStyle = styled(colour);
      context.lineWidth = width;
      context.lineCap = open ? "butt" : "round";
      context.beginPath(); // all at once, so that what is half transparent is not drawn twice
      for (let s = 0; s < side * side; s += 1) {
        for (let d = 0; d < 4; d += 1) if (passages[4 * s + d] === open) this._alongSide(context, s, d);
      }
      context.stroke();
    }
    context.fillStyle = context.strokeStyle = styled("warp");
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

  /** Whether a person knows that something done in a room may lead to the base through a wall, but not what. */
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

  /** A wedge on the wall that points out of the room. */
  _drawTransporter(context, s, d) {
    const [x, y] = this.point(s);
    const [dx, dy] = [[0, -1], [0, 1], [-1, 0], [1, 0]][d];
    const [edge, deep, wide] = [0.46, 0.3, 0.15].map((share) => share * this.unit);
    context.beginPath();
    context.moveTo(x + dx * edge, y + dy * edge);
    context.lineTo(x + dx * deep - dy * wide, y + dy * deep - dx * wide);
    context.lineTo(x + dx * deep + dy * wide, y + dy * deep + dx * wide);
    context.fill();
  }

  /** Which arrows are drawn, if not all. */
  note() {
    if (this.world.listed) return "states in lines, in the order of their numbers; of so many, arrows show the last steps only";
    const each = this.world.maze ? Infinity : eachOf(this._likely(), this.world.nStates);
    return each < Infinity ? `arrows: the ${each} likeliest of each state` : "";
  }

  /** What leads where, and how surely; a person is not told, and of very many states nobody could follow it. */
  _likely() {
    return this.person || this.world.listed ? new Map() : likelyOf(this.world);
  }

  /**
   * Draw one moment.
   * shares: what each state is shaded by, 0 to 1; source and t: whose steps, until when; f: how far into the next
   * one; colour: of the agent; focus: the state that is looked at, or -1; wants: the best action in each room, or null.
   */
  draw({ shares, source, t, f, colour, focus, wants }) {
    const { context, world } = this;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    const still = () => context.drawImage(this.still, 0, 0, this.width, this.height);
    const above = world.maze || world.listed; // else the trail goes from rim to rim
    if (!world.maze) still();
    if (!above) this._drawTrail(source, t, colour);
    for (let s = 0; s < world.nStates; s += 1) this._drawState(s, shares[s]);
    if (world.maze) still();
    if (wants) wants.forEach((a, s) => this._drawWish(s, a, shares[s]));
    if (above) this._drawTrail(source, t, colour);
    if (focus >= 0) this._drawFocus(focus);
    this._drawAgent(source, t, f, colour);
  }

  _drawState(s, share) {
    const { context, world } = this;
    const [x, y] = this.point(s);
    const colour = shadeColour(share);
    context.fillStyle = css(colour);
    if (world.maze) {
      context.fillRect(x - this.reach - 0.3, y - this.reach - 0.3, 2 * this.reach + 0.6, 2 * this.reach + 0.6);
      if (!world.terminal.has(s)) return;
    } else {
      context.beginPath();
      context.arc(x, y, this.reach, 0, 2 * Math.PI);
      context.fill();
      context.strokeStyle = styled("wall");
      context.lineWidth = world.terminal.has(s) ? 3 : 1;
      context.stroke();
    }
    this._drawLabel(world.maze ? "end" : world.states[s], x, y, isLight(colour) ? "#101114" : "#ffffff");
  }

  /** The label within the state, or below it if it is long, smaller where there is no room; none where states are small and many. */
  _drawLabel(label, x, y, colour) {
    const { context } = this;
    context.font = `${Math.min(12, Math.max(this.reach * 0.85, 9))}px system-ui, sans-serif`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    const fits = context.measureText(label).width <= 1.8 * this.reach;
    if (this.reach < 8 && (!fits || this.world.nStates > 60)) return;
    if (fits) {
      context.fillStyle = colour;
      context.fillText(label, x, y + 0.5);
      return;
    }
    if (this.nearest * this.unit < 2 * this.reach + 16) { // no room between this one and the next
      const { lines, size } = fitted(context, label, 1.8 * this.reach);
      context.fillStyle = colour;
      lines.forEach((line, i) => context.fillText(line, x, y + 0.5 + (i - (lines.length - 1) / 2) * 1.1 * size));
      return;
    }
    const text = label.length > 16 ? `${label.slice(0, 15)}…` : label;
    const half = context.measureText(text).width / 2;
    const centre = Math.min(Math.max(x, half + 3), this.width - half - 3);
    context.lineWidth = 4;
    context.lineJoin = "round";
    context.strokeStyle = styled("paper");
    context.strokeText(text, centre, y + this.reach + 12);
    context.fillStyle = styled("ink");
    context.fillText(text, centre, y + this.reach + 12);
  }

  /** An arrow in the direction of the action that is wanted most in a room; none if there are several. */
  _drawWish(s, a, share) {
    if (a < 0 || this.world.terminal.has(s)) return;
    const { context } = this;
    const [x, y] = this.point(s);
    const [dx, dy] = [[0, -1], [0, 1], [-1, 0], [1, 0]][a];
    const [long, wide] = [0.2 * this.unit, 0.09 * this.unit];
    context.strokeStyle = isLight(shadeColour(share)) ? "#101114" : "#ffffff";
    context.lineWidth = 1.6;
    context.beginPath();
    context.moveTo(x - dx * long, y - dy * long);
    context.lineTo(x + dx * long, y + dy * long);
    context.moveTo(x + dx * (long - wide) - dy * wide, y + dy * (long - wide) - dx * wide);
    context.lineTo(x + dx * long, y + dy * long);
    context.lineTo(x + dx * (long - wide) + dy * wide, y + dy * (long - wide) + dx * wide);
    context.stroke();
  }

  _drawTrail(source, t, colour) {
    const { context } = this;
    const first = Math.max(0, t - TRAIL);
    context.lineCap = "round";
    for (let i = first; i < t; i += 1) {
      const [s, sNext, now] = [source.states[i], source.nextStates[i], source.states[i + 1]];
      context.globalAlpha = 0.15 + 0.85 * ((i + 1 - first) / TRAIL) ** 1.5;
      const way = this.way(s, sNext);
      if (s !== sNext || !this.world.maze) this._stroke(way, colour, this.world.isJump(s, sNext) ? [5, 4] : [], 2.6);
      if (!this.world.maze) {
        context.fillStyle = colour;
        fillHead(context, headOf(way, this));
      }
      if (sNext !== now) this._stroke(this.way(sNext, now), styled("quiet"), [2, 4], 1.2, false); // put elsewhere
    }
    context.globalAlpha = 1;
  }

  _stroke(way, colour, dashes, width, halo = true) {
    const { context } = this;
    context.setLineDash(dashes);
    for (const [stroke, wider] of [...(halo ? [[styled("halo"), 2]] : []), [colour, 0]]) {
      context.strokeStyle = stroke;
      context.lineWidth = width + wider;
      context.beginPath();
      trace(context, way);
      context.stroke();
    }
    context.setLineDash([]);
  }

  _drawFocus(s) {
    const { context } = this;
    const [x, y] = this.point(s);
    for (const [colour, width] of [[styled("halo"), 5], [styled("ink"), 2.2]]) {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.beginPath();
      if (this.world.maze) context.rect(x - this.reach + 4, y - this.reach + 4, 2 * this.reach - 8, 2 * this.reach - 8);
      else context.arc(x, y, this.reach + 6, 0, 2 * Math.PI);
      context.stroke();
    }
  }

  _drawAgent(source, t, f, colour) {
    const { context } = this;
    const way = t < source.nSteps && f > 0 ? this.way(source.states[t], source.nextStates[t]) : null;
    const [x, y] = way ? along(way, f) : this.point(source.stateAt(t));
    this.agent = [x, y];
    if (!way && !this.world.maze) {
      this._ring(x, y, this.reach + 2, styled("halo"), 7);
      this._ring(x, y, this.reach + 2, colour, 4.5);
      return;
    }
    const size = this.world.maze ? Math.min(0.24 * this.unit, 11) : Math.min(0.62 * this.reach, 9);
    context.beginPath();
    context.arc(x, y, size, 0, 2 * Math.PI);
    context.fillStyle = colour;
    context.fill();
    this._ring(x, y, size, styled("halo"), 2.5);
    this._ring(x, y, size + 1.6, styled("ink"), 1);
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
