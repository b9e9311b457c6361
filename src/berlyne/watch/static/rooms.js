// Squares: rooms of a maze and cells of a grid, with walls, transporters, the base, numbers and marks.
import { cssColour, cssRgb, isLight, shadeColour, transporterColour } from "./colour.js";

const SIDES = [[-1, -1, 1, -1], [-1, 1, 1, 1], [-1, -1, -1, 1], [1, -1, 1, 1]]; // up, down, left, right
const MIN_NUMBERED = 26; // pixels of a square that has room for its number
const MIN_MARKED = 9; // pixels of a square that has room for a mark
const INK = { light: "#101114", dark: "#ffffff" };

/** Return the ink that is readable on the shade of a share. */
export function inkOn(share) {
  return isLight(shadeColour(share)) ? INK.light : INK.dark;
}

/** Draw walls, transporters and the base. A person sees neither where transporters are, nor the walls of a grid. */
export function drawWalls(context, map) {
  const { world, person } = map;
  const sees = !person || world.maze;
  for (const [colour, width, open] of [["passage", 1, 1], ["wall-edge", 5.5, 0], ["wall", 3, 0]]) {
    if (!open && map.unit < 12 && colour === "wall-edge") continue;
    context.strokeStyle = cssColour(colour);
    context.lineWidth = Math.min(width, Math.max(1, 0.12 * map.unit));
    context.lineCap = open ? "butt" : "round";
    context.beginPath(); // one path for all, so that transparent lines are not drawn twice
    for (let s = 0; s < world.nStates; s += 1) {
      for (let d = 0; d < 4; d += 1) if ((sees ? world.passages[4 * s + d] : 1) === open) alongSide(context, map, s, d);
    }
    context.stroke();
  }
  if (world.maze) drawMaze(context, map);
}

function drawMaze(context, map) {
  const { world, person } = map;
  context.fillStyle = context.strokeStyle = transporterColour();
  for (let s = 0; s < world.nStates; s += 1) {
    if (mayJump(map, s)) drawDot(context, map, s);
    for (let d = 0; d < 4; d += 1) if (!person && world.maze.transporters[4 * s + d]) drawTransporter(context, map, s, d);
  }
  const [x, y] = map.point(world.maze.base);
  context.lineWidth = 2;
  for (const share of [0.3, 0.19]) {
    context.beginPath();
    context.arc(x, y, share * map.unit, 0, 2 * Math.PI);
    context.stroke();
  }
  context.beginPath();
  context.arc(x, y, 0.08 * map.unit, 0, 2 * Math.PI);
  context.fill();
}

function alongSide(context, map, s, d, inset = 0, margin = 0) {
  const [x, y] = map.point(s);
  const [ax, ay, bx, by] = SIDES[d];
  const place = (c, alongAxis) => c * (0.5 - (alongAxis ? margin : inset)) * map.unit;
  const horizontal = ay === by;
  context.moveTo(x + place(ax, horizontal), y + place(ay, !horizontal));
  context.lineTo(x + place(bx, horizontal), y + place(by, !horizontal));
}

/** Whether a person knows that some action in a room may lead through a wall to the base. */
export function mayJump({ world, person }, s) {
  return Boolean(person) && world.isJump(s, world.maze.base) && person.support(world.row(0, s)).includes(world.maze.base);
}

function drawDot(context, map, s) {
  const [x, y] = map.point(s);
  context.beginPath();
  context.arc(x + 0.32 * map.unit, y + 0.32 * map.unit, 0.08 * map.unit, 0, 2 * Math.PI);
  context.fill();
}

/** Draw a bar along the wall on the side of the room from which it leads away. */
function drawTransporter(context, map, s, d) {
  context.lineCap = "butt";
  context.lineWidth = Math.max(2, 0.085 * map.unit);
  context.beginPath();
  alongSide(context, map, s, d, 0.075, 0.12);
  context.stroke();
}

/** Fill a square with its shade; write its number and mark, and outline it if episodes end there. Squares that are never entered are empty. */
export function drawSquare(context, map, s, share) {
  const { world, radius } = map;
  const [x, y] = map.point(s);
  const never = world.uncounted.has(s) && !world.terminal.has(s);
  context.fillStyle = never ? cssColour("soft") : cssRgb(shadeColour(share));
  context.fillRect(x - radius - 0.3, y - radius - 0.3, 2 * radius + 0.6, 2 * radius + 0.6);
  const ink = never ? cssColour("quiet") : inkOn(share);
  context.fillStyle = context.strokeStyle = ink;
  if (world.terminal.has(s) && radius > 5) {
    context.lineWidth = 1.5;
    context.strokeRect(x - 0.78 * radius, y - 0.78 * radius, 1.56 * radius, 1.56 * radius);
  }
  const mark = world.marks.get(s) || (world.terminal.has(s) && !world.marks.size ? "end" : "");
  if (mark && 2 * radius >= MIN_MARKED) {
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.font = `650 ${Math.min(Math.max(0.9 * radius, 7), mark.length > 1 ? 11 : 17)}px system-ui, sans-serif`;
    context.fillText(mark, x, y + 0.5);
  }
  if (2 * radius < MIN_NUMBERED) return;
  context.font = `${Math.min(Math.max(0.36 * radius, 8), 11)}px system-ui, sans-serif`;
  if (context.measureText(world.states[s]).width > 1.5 * radius) return;
  context.textAlign = "left";
  context.textBaseline = "top";
  context.globalAlpha = 0.72;
  const corner = world.terminal.has(s) || world.maze ? 0.68 : 0.84; // beside outlines and transporters
  context.fillText(world.states[s], x - corner * radius, y - corner * radius);
  context.globalAlpha = 1;
}

/** Draw an arrow in the direction of the best action in a square; none if several are best, or if it has no direction. */
export function drawBestAction(context, map, s, a, share) {
  const direction = a < 0 ? null : map.world.directions[a];
  if (!direction || map.world.uncounted.has(s) || map.unit < 12) return;
  const [x, y] = map.point(s);
  const [dx, dy] = direction;
  const [length, head] = [0.2 * map.unit, 0.09 * map.unit];
  context.strokeStyle = inkOn(share);
  context.lineWidth = 1.6;
  context.beginPath();
  context.moveTo(x - dx * length, y - dy * length);
  context.lineTo(x + dx * length, y + dy * length);
  context.moveTo(x + dx * (length - head) - dy * head, y + dy * (length - head) - dx * head);
  context.lineTo(x + dx * length, y + dy * length);
  context.lineTo(x + dx * (length - head) + dy * head, y + dy * (length - head) + dx * head);
  context.stroke();
}
