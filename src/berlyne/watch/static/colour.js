// Colours and numbers. The colour ramps have equal steps in OKLab and are ordered by lightness.

/** Colours from small values, near the background colour of the page, to large values, as [red, green, blue]. */
export const RAMPS = {
  light: [
    [230, 244, 237], [206, 234, 224], [181, 223, 214], [156, 213, 206], [131, 201, 201],
    [106, 189, 196], [82, 176, 192], [61, 163, 188], [45, 148, 183], [35, 134, 177],
    [34, 119, 168], [38, 104, 158], [42, 89, 146], [45, 75, 132], [46, 61, 116],
    [45, 49, 99], [41, 37, 81],
  ],
  dark: [
    [36, 34, 64], [41, 45, 80], [44, 57, 96], [44, 70, 112], [43, 84, 126],
    [40, 98, 139], [35, 113, 150], [30, 128, 160], [29, 143, 168], [37, 158, 174],
    [52, 172, 179], [71, 186, 182], [94, 200, 185], [117, 213, 188], [142, 225, 192],
    [167, 237, 197], [193, 248, 203],
  ],
};

const RUN_COLOURS = {
  light: ["#c2410c", "#0b6bcb", "#8a2bb8", "#4a7a0a"],
  dark: ["#ff8b4d", "#5fb0ff", "#d18bf5", "#9ccc4a"],
};

const PERSON_COLOUR = { light: "#a16207", dark: "#ffd43b" };

export function isDark() {
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

export function theme() {
  return isDark() ? "dark" : "light";
}

/** Return the colour of run i, or of the person who took over if i is negative. */
export function runColour(i) {
  return i < 0 ? PERSON_COLOUR[theme()] : RUN_COLOURS[theme()][i % 4];
}

const styleCache = new Map();

/** Return a colour of the style sheet; it is looked up once. */
export function cssColour(name) {
  if (!styleCache.has(name)) {
    styleCache.set(name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
  }
  return styleCache.get(name);
}

/** Clear the cached colours, because the theme has changed. */
export function clearStyleCache() {
  styleCache.clear();
}

/** Return the colour of a share between 0 and 1, as [red, green, blue]. */
export function shadeColour(share, ramp = RAMPS[theme()]) {
  const position = Math.min(Math.max(share, 0), 1) * (ramp.length - 1);
  const i = Math.min(Math.floor(position), ramp.length - 2);
  const f = position - i;
  return ramp[i].map((c, k) => Math.round(c + f * (ramp[i + 1][k] - c)));
}

/** Whether dark text is easier to read on a colour than light text. */
export function isLight([red, green, blue]) {
  return 0.299 * red + 0.587 * green + 0.114 * blue > 128;
}

export function cssRgb(rgb) {
  return `rgb(${rgb.join(" ")})`;
}

/** Format a number with few digits. */
export function formatShort(x) {
  if (x === null || Number.isNaN(x)) return "unknown";
  const size = Math.abs(x);
  if (size < 1e-9) return "0";
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  const text = size >= 1000 ? Math.round(x).toLocaleString("en") : size >= 0.001 ? x.toFixed(digits) : x.toExponential(0);
  return text.replaceAll("-", "−");
}

/** Format a round number with all its digits, so that each level of a race is shown exactly. */
export function formatExact(x) {
  return x.toLocaleString("en", { maximumFractionDigits: 12 });
}

export function withUnit(x, unit) {
  return unit ? `${formatShort(x)} ${unit}` : formatShort(x);
}
