// A link to a closed element opens it, and printing opens all of them. The page also works without this script.
function unfold() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  target.scrollIntoView();
}
addEventListener("hashchange", unfold);
addEventListener("click", (event) => {
  const link = event.target.closest && event.target.closest('a[href^="#"]');
  if (link && link.getAttribute("href") === location.hash) unfold();
});
unfold();
// A replay is assembled in its own frame when it is first opened.
for (const fold of document.querySelectorAll("details.replay")) {
  fold.addEventListener("toggle", () => {
    const place = fold.querySelector(".frame");
    if (!fold.open || place.firstElementChild) return;
    const frame = document.createElement("iframe");
    const data = document.getElementById(`${fold.id}-data`).textContent;
    frame.title = place.dataset.title;
    frame.setAttribute("sandbox", "allow-scripts");
    frame.srcdoc = JSON.parse(document.getElementById("replay-shell").textContent).replace("{{DATA}}", () => data);
    place.replaceChildren(frame);
  });
}
// A replay sends its height, and its frame gets the same height, so that the page has only one scrollbar.
addEventListener("message", ({ source, data }) => {
  const frame = [...document.querySelectorAll(".frame iframe")].find((candidate) => candidate.contentWindow === source);
  if (!frame || !(data && data.height > 0)) return;
  frame.style.height = `${data.height + frame.offsetHeight - frame.clientHeight}px`; // including its border
});
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open]):not(.replay)")];
  folded.forEach((fold) => { fold.open = true; });
});
addEventListener("afterprint", () => folded.forEach((fold) => { fold.open = false; }));
