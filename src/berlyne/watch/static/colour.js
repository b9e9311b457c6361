// Colours and numbers. The ramp is even to the eye (equal steps in OKLab) and ordered by lightness alone.

/** From little, near the colour of the page, to much; red, green and blue. */
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

/** The colour of a run, or of the person who took over if it is none. */
export function runColour(i) {
  return i < 0 ? PERSON_COLOUR[theme()] : RUN_COLOURS[theme()][i % 4];
}

const looked = new Map();

/** A colour of the style, looked up once. */
export function styled(name) {
  if (!looked.has(name)) {
    looked.set(name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
  }
  return looked.get(name);
}

/** Look colours up again, because the theme has changed. */
export function forgetStyle() {
  looked.clear();
}

/** The colour of a share between 0 and 1, as red, green and blue. */
export function shadeColour(share, ramp = RAMPS[theme()]) {
  const place = Math.min(Math.max(share, 0), 1) * (ramp.length - 1);
  const i = Math.min(Math.floor(place), ramp.length - 2);
  const f = place - i;
  return ramp[i].map((c, k) => Math.round(c + f * (ramp[i + 1][k] - c)));
}

/** Whether dark ink is seen better on a colour than light ink. */
export function isLight([red, green, blue]) {
  return 0.299 * red + 0.587 * green + 0.114 * blue > 128;
}

export function css(rgb) {
  return `rgb(${rgb.join(" ")})`;
}

/** A number in few digits. */
export function brief(x) {
  if (x === null || Number.isNaN(x)) return "unknown";
  const size = Math.abs(x);
  if (size < 1e-9) return "0";
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  const text = size >= 1000 ? Math.round(x).toLocaleString("en") : size >= 0.001 ? x.toFixed(digits) : x.toExponential(0);
  return text.replaceAll("-", "−");
}

/** A round number as it is, all its digits: a level of a race is not another one. */
export function exact(x) {
  return x.toLocaleString("en", { maximumFractionDigits: 12 });
}

export function withUnit(x, unit) {
  return unit ? `${brief(x)} ${unit}` : brief(x);
}
