// The transitions of a graph: arcs with heads that say where they lead, and loops where one stays.
import { styled } from "./colour.js";

const CROWDED = 5; // arrows per state from which on only likely ones get a head or a loop
const MANY = 10; // arrows per state from which on only the likeliest of each state are drawn
const FEW = 160; // how many these are, about
const FAINT = 0.25; // what is less likely than this is faint there
const APART = 0.8; // radians between the middle of a loop and each of its sides

/** The control point of an arc from one point to another that swerves to its left. */
export function swerved([x0, y0], [x1, y1], bend) {
  return [(x0 + x1) / 2 + bend * (y1 - y0), (y0 + y1) / 2 - bend * (x1 - x0)];
}

/** The four points of a loop from p in a direction (of length 1) and back, which reaches so far. */
export function loop([x, y], [dx, dy], far) {
  const long = far / (0.75 * Math.cos(APART));
  const [c, s] = [Math.cos(APART) * long, Math.sin(APART) * long];
  return [[x, y], [x + c * dx - s * dy, y + c * dy + s * dx], [x + c * dx + s * dy, y + c * dy - s * dx], [x, y]];
}

/** The point at share f of a way, which is a Bézier curve of any number of points. */
export function along(way, f) {
  let points = way;
  while (points.length > 1) {
    points = points.slice(1).map(([x, y], i) => [points[i][0] + f * (x - points[i][0]), points[i][1] + f * (y - points[i][1])]);
  }
  return points[0];
}

/** Add a way of three or four points to the path of a context. */
export function trace(context, way) {
  const points = way.slice(1).flat();
  context.moveTo(...way[0]);
  if (points.length === 4) context.quadraticCurveTo(...points);
  else context.bezierCurveTo(...points);
}

/** The head of an arrow along a way of a map: its tip at the rim of a state, and two corners; smaller where states are close. */
export function headOf(way, map) {
  const end = way[way.length - 1];
  const room = Math.max(0.75 * (map.nearest * map.unit - 2 * map.reach), 3);
  const [clear, size] = [map.reach + 1.5, Math.min(Math.max(0.45 * map.reach, 5), 9, room) * (way.length > 3 ? 0.75 : 1)];
  let [low, high] = [0.5, 1];
  for (let i = 0; i < 24; i += 1) {
    const middle = (low + high) / 2;
    const [x, y] = along(way, middle);
    if (Math.hypot(x - end[0], y - end[1]) > clear) low = middle;
    else high = middle;
  }
  const tip = along(way, low);
  const [x, y] = along(way, low - 0.04);
  const length = Math.hypot(tip[0] - x, tip[1] - y) || 1;
  const [dx, dy] = [(size * (tip[0] - x)) / length, (size * (tip[1] - y)) / length];
  return [tip, [tip[0] - dx - 0.5 * dy, tip[1] - dy + 0.5 * dx], [tip[0] - dx + 0.5 * dy, tip[1] - dy - 0.5 * dx]];
}

/** The probability of the action that leads from one state to another most surely, by s * nStates + sNext. */
export function likelyOf(world) {
  const likely = new Map();
  for (let row = 0; row < world.nRows; row += 1) {
    const s = Math.floor(row / world.nActions);
    if (world.terminal.has(s)) continue;
    for (let i = world.indptr[row]; i < world.indptr[row + 1]; i += 1) {
      const key = s * world.nStates + world.indices[i];
      likely.set(key, Math.max(likely.get(key) || 0, world.theta[i]));
    }
  }
  return likely;
}

/** How many transitions of each state are drawn: Infinity, or a few if there are too many to follow. */
export function eachOf(likely, nStates) {
  const few = Math.max(2, Math.floor(FEW / nStates));
  const of = new Array(nStates).fill(0);
  for (const key of likely.keys()) of[Math.floor(key / nStates)] += 1;
  return likely.size > MANY * nStates && Math.max(...of) > few ? few : Infinity;
}

/** The transitions that are drawn, the least likely first. */
function likeliest(likely, nStates) {
  const each = eachOf(likely, nStates);
  const drawn = new Array(nStates).fill(0);
  const ordered = [...likely].sort(([, one], [, other]) => other - one);
  return ordered.filter(([key]) => (drawn[Math.floor(key / nStates)] += 1) <= each).reverse();
}

/** The arrows of a map, faint ones first: [{s, sNext, p, way, head}]; head is null where there are too many. */
export function arrowsOf(map, likely) {
  const { nStates } = map.world;
  const kept = likeliest(likely, nStates);
  const crowded = kept.length > CROWDED * nStates;
  const found = [];
  for (const [key, p] of kept) {
    const [s, sNext] = [Math.floor(key / nStates), key % nStates];
    const marked = !crowded || p >= FAINT;
    if (s === sNext && !marked) continue;
    const way = map.way(s, sNext);
    found.push({ s, sNext, p, way, head: marked ? headOf(way, map) : null });
  }
  return found;
}

/** Draw arrows, the darker the likelier; heads are darker than lines, to be read. */
export function drawArrows(context, arrows) {
  context.strokeStyle = context.fillStyle = styled("ink");
  for (const { p, way, head } of arrows) {
    context.globalAlpha = (head ? 0.12 : 0.05) + 0.35 * p;
    context.lineWidth = 0.6 + 1.2 * p;
    context.beginPath();
    trace(context, way);
    context.stroke();
    if (!head) continue;
    context.globalAlpha = 0.3 + 0.5 * p;
    fillHead(context, head);
  }
  context.globalAlpha = 1;
}

export function fillHead(context, head) {
  context.beginPath();
  for (const corner of head) context.lineTo(...corner);
  context.fill();
}
