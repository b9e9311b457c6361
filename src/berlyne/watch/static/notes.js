// Notes of a lecturer, each shown from its step on.

/** Show the note of the last step that has one. A race has no common step, and a person who takes over has none. */
export function showNote({ notes, taking, mode, index }) {
  const place = document.getElementById("note");
  const reached = taking || mode === "race" ? [] : notes.filter(([t]) => t <= index);
  const text = reached.length ? reached[reached.length - 1][1] : "";
  place.hidden = !notes.length || taking;
  if (place.textContent !== text) place.textContent = text;
}
