// Transitions of a graph: arcs with heads that show the direction, and loops for staying.
import { cssColour } from "./colour.js";

const CROWDED = 5; // with more arrows per state, only likely ones have a head or a loop
const MAX_MEAN_ARROWS = 10; // with more arrows per state, only the likeliest of each state are drawn
const FEW_ARROWS = 160; // approximate number of arrows that are drawn in that case
const FAINT = 0.25; // smallest probability of an arrow with a head in a crowded graph
const LOOP_ANGLE = 0.8; // radians between the axis of a loop and each of its sides

/** Return the control point of an arc from one point to another that bends to its left. */
export function controlPoint([x0, y0], [x1, y1], bend) {
  return [(x0 + x1) / 2 + bend * (y1 - y0), (y0 + y1) / 2 - bend * (x1 - x0)];
}

/** Return the four points of a loop from p in a direction (a unit vector) and back; it extends to the distance `far`. */
export function loopPath([x, y], [dx, dy], far) {
  const length = far / (0.75 * Math.cos(LOOP_ANGLE));
  const [c, s] = [Math.cos(LOOP_ANGLE) * length, Math.sin(LOOP_ANGLE) * length];
  return [[x, y], [x + c * dx - s * dy, y + c * dy + s * dx], [x + c * dx + s * dy, y + c * dy - s * dx], [x, y]];
}

/** Return the point at share f of a path, which is a Bézier curve with any number of points. */
export function pointAt(path, f) {
  let points = path;
  while (points.length > 1) {
    points = points.slice(1).map(([x, y], i) => [points[i][0] + f * (x - points[i][0]), points[i][1] + f * (y - points[i][1])]);
  }
  return points[0];
}

/** Add a path of three or four points to the current path of a context. */
export function addPath(context, path) {
  const points = path.slice(1).flat();
  context.moveTo(...path[0]);
  if (points.length === 4) context.quadraticCurveTo(...points);
  else context.bezierCurveTo(...points);
}

/** Return the head of an arrow along a path: its tip at the rim of a state, and two corners. Heads are smaller if states are close. */
export function headOf(path, map) {
  const end = path[path.length - 1];
  const room = Math.max(0.75 * (map.nearest * map.unit - 2 * map.radius), 3);
  const [clear, size] = [map.radius + 1.5, Math.min(Math.max(0.45 * map.radius, 5), 9, room) * (path.length > 3 ? 0.75 : 1)];
  let [low, high] = [0.5, 1];
  for (let i = 0; i < 24; i += 1) {
    const middle = (low + high) / 2;
    const [x, y] = pointAt(path, middle);
    if (Math.hypot(x - end[0], y - end[1]) > clear) low = middle;
    else high = middle;
  }
  const tip = pointAt(path, low);
  const [x, y] = pointAt(path, low - 0.04);
  const length = Math.hypot(tip[0] - x, tip[1] - y) || 1;
  const [dx, dy] = [(size * (tip[0] - x)) / length, (size * (tip[1] - y)) / length];
  return [tip, [tip[0] - dx - 0.5 * dy, tip[1] - dy + 0.5 * dx], [tip[0] - dx + 0.5 * dy, tip[1] - dy - 0.5 * dx]];
}

/** Return the largest probability of each transition under any action, by s * nStates + sNext. */
export function largestProbabilities(world) {
  const probabilities = new Map();
  for (let row = 0; row < world.nRows; row += 1) {
    const s = Math.floor(row / world.nActions);
    if (world.terminal.has(s)) continue;
    for (let i = world.indptr[row]; i < world.indptr[row + 1]; i += 1) {
      const key = s * world.nStates + world.indices[i];
      probabilities.set(key, Math.max(probabilities.get(key) || 0, world.theta[i]));
    }
  }
  return probabilities;
}

/** Return the estimated probability of each transition that was seen up to time t, the largest of any action, by s * nStates + sNext. */
export function believedProbabilities(source, t) {
  const probabilities = new Map();
  for (const { key, row, i, time } of source.observed) {
    if (time > t) break;
    probabilities.set(key, Math.max(probabilities.get(key) || 0, source.probability(row, i, t)));
  }
  return probabilities;
}

/** Return the number of transitions that are drawn from each state: Infinity, or a few if there are too many. */
export function countArrowsPerState(probabilities, nStates) {
  const few = Math.max(2, Math.floor(FEW_ARROWS / nStates));
  const counts = new Array(nStates).fill(0);
  for (const key of probabilities.keys()) counts[Math.floor(key / nStates)] += 1;
  return probabilities.size > MAX_MEAN_ARROWS * nStates && Math.max(...counts) > few ? few : Infinity;
}

/** Return the transitions that are drawn, the least likely first. */
function selectTransitions(probabilities, nStates) {
  const perState = countArrowsPerState(probabilities, nStates);
  const drawn = new Array(nStates).fill(0);
  const ordered = [...probabilities].sort(([, p], [, q]) => q - p);
  return ordered.filter(([key]) => (drawn[Math.floor(key / nStates)] += 1) <= perState).reverse();
}

/** Return the path and the head of an arrow, which are computed once for each size of a map. */
function cachedArrow(map, key, s, sNext) {
  if (!map.arrowCache.has(key)) {
    const path = map.path(s, sNext);
    map.arrowCache.set(key, { path, head: headOf(path, map) });
  }
  return map.arrowCache.get(key);
}

/** Return the arrows of a map, faint ones first: [{s, sNext, p, path, head}]; head is null for faint ones in a crowded graph. */
export function arrowsOf(map, probabilities) {
  const { nStates } = map.world;
  const selected = selectTransitions(probabilities, nStates);
  const crowded = selected.length > CROWDED * nStates;
  const arrows = [];
  for (const [key, p] of selected) {
    const [s, sNext] = [Math.floor(key / nStates), key % nStates];
    const marked = !crowded || p >= FAINT;
    if (s === sNext && !marked) continue;
    const { path, head } = cachedArrow(map, key, s, sNext);
    arrows.push({ s, sNext, p, path, head: marked ? head : null });
  }
  return arrows;
}

/** Draw arrows, darker if likelier. Heads are darker than lines. In a crowded graph, those from other states than `from` are faint. */
export function drawArrows(context, arrows, from, nStates) {
  context.strokeStyle = context.fillStyle = cssColour("ink");
  const crowded = arrows.length > CROWDED * nStates;
  for (const { s, p, path, head } of arrows) {
    const strength = !crowded ? 1 : s === from ? 1.8 : 0.35;
    context.globalAlpha = Math.min(strength * ((head ? 0.12 : 0.05) + 0.35 * p), 1);
    context.lineWidth = 0.6 + 1.2 * p;
    context.beginPath();
    addPath(context, path);
    context.stroke();
    if (!head) continue;
    context.globalAlpha = Math.min(strength * (0.3 + 0.5 * p), 1);
    fillHead(context, head);
  }
  context.globalAlpha = 1;
}

export function fillHead(context, head) {
  context.beginPath();
  for (const corner of head) context.lineTo(...corner);
  context.fill();
}
