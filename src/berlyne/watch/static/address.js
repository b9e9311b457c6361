// The page and the world around it: the address, which stores time and state, and the frame of another page.

/** Write the address: `#t=420&s=14`, or `#bits=40` for a race. */
export function writeAddress(app) {
  const parts = [app.mode === "race" ? `bits=${app.level}` : `t=${app.index}`];
  if (app.pinned >= 0) parts.push(`s=${app.pinned}`);
  try {
    history.replaceState(null, "", `#${parts.join("&")}`);
  } catch {
    // a page within another page may have no address
  }
}

/** Read the numbers t, s and bits from the address; null for those that are not there. */
export function addressParts() {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const number = (name) => (/^\d+(\.\d+)?$/.test(fragment.get(name) || "") ? Number(fragment.get(name)) : null);
  return { t: number("t"), s: number("s"), bits: number("bits") };
}

/** Within another page, post the height of this one for its frame. The height only grows, unless the width changes. */
export function postHeight() {
  const root = document.documentElement;
  let [width, height] = [0, 0];
  new ResizeObserver(() => {
    const now = Math.ceil(root.getBoundingClientRect().height);
    if (root.offsetWidth === width && now <= height) return;
    [width, height] = [root.offsetWidth, now];
    parent.postMessage({ height }, "*");
  }).observe(root);
}
