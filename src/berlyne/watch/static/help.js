// What the page shows, in words: the panel behind "?", and the legend of the map.
import { sourceColour, theme, transporterColour } from "./colour.js";
import { element } from "./details.js";

const ICONS = { // paths in a box of 22 x 14; "warp" has the colour of transporters
  agent: ["ink", "M11 2a5 5 0 1 0 0.01 0zm0 2.5a2.5 2.5 0 1 1-0.01 0z"],
  trail: ["ink", "M1 11q6-10 13-5l-1 1.5q-6-3.5-11 4.5zM14 2l6 4-7 3z"],
  jump: ["ink", "M1 8h4v2h-4zM7 6h4v2h-4zM13 8h4v2h-4zM17 5l5 4-6 2z"],
  wall: ["ink", "M1 5.5h20v3h-20z"],
  transporter: ["warp", "M2 5h18v4h-18z"],
  base: ["warp", "M11 0a7 7 0 1 0 0.01 0zm0 1.7a5.3 5.3 0 1 1-0.01 0zM11 5a2 2 0 1 0 0.01 0z"],
  end: ["ink", "M4 0h14v14h-14zM5.5 1.5v11h11v-11zM7 3h8v8h-8zM8 4v6h6v-6z"],
  arrow: ["quiet", "M1 6.2h13v-3.2l7 4-7 4v-3.2h-13z"],
  dot: ["warp", "M11 4a3 3 0 1 0 0.01 0z"],
};

function icon(name) {
  const { namespaceURI } = document.querySelector("svg");
  const svg = document.createElementNS(namespaceURI, "svg");
  const path = document.createElementNS(namespaceURI, "path");
  svg.setAttribute("viewBox", "0 0 22 14");
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", ICONS[name][1]);
  path.setAttribute("fill-rule", "evenodd");
  path.setAttribute("class", `icon-${ICONS[name][0]}`);
  svg.append(path);
  return svg;
}

/** Return the entries of the legend for a world, and for a person who does not see everything: [[icon, text]]. */
function legendEntries(world, taking) {
  const entries = [["agent", taking ? "you" : "the agent"], ["trail", taking ? "your last 16 steps" : "its last 16 steps"]];
  if (world.isSquares) entries.push(["jump", "a jump"]);
  if (world.isSquares && !(taking && !world.maze)) entries.push(["wall", "wall"]);
  if (world.maze && !taking) entries.push(["transporter", "transporter to the base"]);
  if (world.maze && taking) entries.push(["dot", "a wall of this room may lead to the base"]);
  if (world.maze) entries.push(["base", "base"]);
  if (world.terminal.size) entries.push(["end", "episodes end here"]);
  if (!world.isSquares && !world.listed) entries.push(["arrow", "a transition, stronger if likelier"]);
  return entries;
}

const MARKS = { S: "start", G: "goal", H: "hole", C: "cliff", P: "passenger", D: "destination" };

/** Return why nobody can take over on this page, and what to change in Python. */
function whyNotOffered(world) {
  const { nStates, nActions } = world;
  return "You cannot take over on this page, because it can update only a Dirichlet prior with one fixed concentration, or the prior of 1-2-3 Worlds. " +
    `In Python, use world.with_prior(berlyne.Dirichlet(1 / ${nStates}, n_states=${nStates}, n_actions=${nActions})).`;
}

/** Explanations of what the page shows: [[term, text]]. */
function explanations({ world, runs }) {
  const place = world.maze ? "room" : "state";
  const texts = [
    ["Missing information", world.estimated ? `How far the estimates still are from those after all trials, in bits. The truth is not known. The curve sums it over all ${place}s.` : `How wrong an explorer's estimates still are, in bits. Zero means that it knows where every action leads. The curve sums it over all ${place}s.`],
    ["Shading", `A ${place} is shaded by what is still unknown about its actions, by visits, by the utility of its best action, or by its value. The words at the ends of the scale tell which end is which.`],
    ["PIG", "Predicted information gain: the bits by which one more observation is expected to reduce the missing information. It falls with every try."],
    ["Value", "What an explorer expects to gain from an action over all the steps that it plans. Planning makes values rise step by step towards what is unknown, and a planner walks up this slope. Sliders show it for another depth and another α."],
    ["Trail", "The last 16 steps; the newest are strongest. A dashed arc is a jump. A dotted grey line is a new beginning."],
    ["Race", "Every explorer is shown at the step at which its missing information first fell to the same number of bits. In step, all are shown at the same time."],
    world.estimated ? ["Estimated and final", "Filled bars are the probabilities that the explorer believes at this step, outlined bars its estimates after all trials."] : ["Estimated and true", "Filled bars are the probabilities that the explorer believes, outlined bars the true ones."],
    ["Take over", runs.some((run) => run.belief) ? "You go on from the step that is shown, with what the explorer knows. Your run stays beside the others, and you can download it."
      : whyNotOffered(world)],
  ];
  if (world.maze) texts.splice(2, 0, ["Maze", "A blue bar is a transporter: a push into it leads to the base, the blue target. A push into a wall leads nowhere. Pushes are noisy."]);
  const marks = [...new Set(world.marks.values())].filter((mark) => MARKS[mark]).map((mark) => `${mark} ${MARKS[mark]}`);
  if (marks.length) texts.splice(2, 0, ["Letters", `${marks.join(", ")}.`]);
  return texts;
}

export class Help {
  constructor(app) {
    this.app = app;
    this.panel = document.getElementById("help");
    this.button = document.getElementById("ask");
    this.button.addEventListener("click", () => this.toggle());
    const notOffered = document.getElementById("not-offered");
    notOffered.hidden = app.runs.some((run) => run.belief);
    notOffered.textContent = whyNotOffered(app.world);
  }

  get isOpen() {
    return !this.panel.hidden;
  }

  toggle(open = !this.isOpen) {
    if (open) this._fill();
    this.panel.hidden = !open;
    this.button.setAttribute("aria-expanded", open);
    this.app.resize();
    if (!open && this.panel.contains(document.activeElement)) this.button.focus();
  }

  _fill() {
    const { sources } = this.app;
    const terms = (pairs) => element("dl", {}, ...pairs.map(([name, text]) => element("div", {}, element("dt", {}, name), element("dd", { text }))));
    const strategies = sources.map((source) => {
      const swatch = element("span", { class: "swatch", "aria-hidden": "true" });
      swatch.style.background = sourceColour(source);
      return [element("span", { class: "strategy" }, swatch, source.name), source.about];
    });
    this.panel.replaceChildren(element("h2", { text: "The explorers" }), terms(strategies),
      element("h2", { text: "What you see" }), terms(explanations(this.app)));
  }

  /** Show the legend of the map. */
  update() {
    const { world, taking } = this.app;
    const key = `${theme()} ${taking}`;
    if (key === this.key) return;
    this.key = key;
    document.documentElement.style.setProperty("--warp", transporterColour());
    const entries = legendEntries(world, taking).map(([name, text]) => element("span", {}, icon(name), text));
    const marks = [...new Set(world.marks.values())].filter((mark) => MARKS[mark])
      .map((mark) => element("span", {}, element("b", { text: mark }), MARKS[mark]));
    document.getElementById("legend").replaceChildren(...entries, ...marks);
    if (this.isOpen) this._fill();
  }
}
