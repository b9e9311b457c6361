// Colours: those of strategies and shades come with the data, as figures have them; the others are in the style sheet.

let appearance = null;

/** Set the colours that figures and the page share: {shades: {light, dark}, transporter, you}. */
export function setAppearance(data) {
  const channels = (colour) => [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
  const shades = Object.entries(data.shades).map(([name, stops]) => [name, stops.map(channels)]);
  appearance = { ...data, shades: Object.fromEntries(shades) };
}

/** Return the shades from small to large values as [red, green, blue], by theme. */
export function shadeRamps() {
  return appearance.shades;
}

export function isDark() {
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

export function theme() {
  return isDark() ? "dark" : "light";
}

/** Return the colour of a run, or of the person who took over. */
export function sourceColour(source) {
  return (source.colour || appearance.you)[theme()];
}

/** Return the colour of transporters and of the base. */
export function transporterColour() {
  return appearance.transporter[theme()];
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
export function shadeColour(share, ramp = appearance.shades[theme()]) {
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
