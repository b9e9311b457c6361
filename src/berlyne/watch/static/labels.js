// Labels of states in a map: inside if they fit, else in two lines, below the state, or shortened in the middle.
import { cssColour } from "./colour.js";
import { shortenMiddle } from "./numbers.js";

const MAX_BELOW = 16; // characters of a label below a state

/** Fit a label into a width: smaller, in two lines, or shortened in the middle. Sets the font. */
export function fitLabel(context, label, maxWidth) {
  const words = label.split(" ");
  const half = Math.ceil(words.length / 2);
  const broken = words.length > 1 ? [words.slice(0, half).join(" "), words.slice(half).join(" ")] : [label];
  for (const lines of [[label], broken]) {
    for (const size of [10, 9, 8]) {
      context.font = `${size}px system-ui, sans-serif`;
      if (lines.every((line) => context.measureText(line).width <= maxWidth)) return { lines, size };
    }
  }
  let length = [...label].length;
  while (length > 2 && context.measureText(shortenMiddle(label, length)).width > maxWidth) length -= 1;
  return { lines: [shortenMiddle(label, length)], size: 8 };
}

/** Draw the label of a node: inside; below if it is long; smaller if there is no room; not at all if states are small and many. */
export function drawNodeLabel(context, label, [x, y], colour, { radius, gap, nStates, width }) {
  context.font = `${Math.min(12, Math.max(radius * 0.85, 9))}px system-ui, sans-serif`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  const fits = context.measureText(label).width <= 1.8 * radius;
  if (radius < 8 && (!fits || nStates > 60)) return;
  context.fillStyle = colour;
  if (fits) {
    context.fillText(label, x, y + 0.5);
    return;
  }
  if (gap < 2 * radius + 16) { // no room between neighbouring states
    const { lines, size } = fitLabel(context, label, 1.8 * radius);
    lines.forEach((line, i) => context.fillText(line, x, y + 0.5 + (i - (lines.length - 1) / 2) * 1.1 * size));
    return;
  }
  const text = shortenMiddle(label, MAX_BELOW);
  const half = context.measureText(text).width / 2;
  const centre = Math.min(Math.max(x, half + 3), width - half - 3);
  context.lineWidth = 4;
  context.lineJoin = "round";
  context.strokeStyle = cssColour("paper");
  context.strokeText(text, centre, y + radius + 12);
  context.fillStyle = cssColour("ink");
  context.fillText(text, centre, y + radius + 12);
}
