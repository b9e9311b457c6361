// Numbers as a reader wants them: few digits, and words for what is too small to matter.

const SMALLEST = 0.001; // a smaller number is described in words

/** Format a number with few digits; one that is not zero, but smaller than 0.001, is "less than 0.001". */
export function formatShort(x) {
  if (x === null || Number.isNaN(x)) return "unknown";
  const size = Math.abs(x);
  if (size < 1e-9) return "0";
  if (size < SMALLEST) return x > 0 ? "less than 0.001" : "between −0.001 and 0";
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  const text = size >= 1000 ? Math.round(x).toLocaleString("en") : x.toFixed(digits);
  return text.replaceAll("-", "−");
}

/** Format a round number with all its digits, so that each level of a race is shown exactly. */
export function formatExact(x) {
  return x.toLocaleString("en", { maximumFractionDigits: 12 });
}

export function withUnit(x, unit) {
  return unit ? `${formatShort(x)} ${unit}` : formatShort(x);
}

/** Return "1 step" or "12 steps". */
export function countOf(n, word) {
  return `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;
}

/** Shorten a text to a number of characters in its middle, so that texts with the same beginning are told apart. */
export function shortenMiddle(text, length) {
  const characters = [...text];
  if (characters.length <= length) return text;
  const tail = Math.floor((length - 1) / 2);
  return `${characters.slice(0, length - 1 - tail).join("")}…${tail ? characters.slice(-tail).join("") : ""}`;
}
