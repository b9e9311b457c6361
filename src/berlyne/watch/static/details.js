// What is known of one state: true and estimated distribution of each action, its value and its utility.
import { brief, withUnit } from "./colour.js";

const MOST = 24; // outcomes side by side
const SHOWN = 10; // that stand out, if there are more
const WIDE = 10; // most of them that have room for a name across

/** An element with text, which is never read as markup. */
export function element(tag, { text, ...attributes } = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  made.append(...children);
  return made;
}

/** The outcomes of a row: [{s, truth, estimated}]. */
export function outcomesOf(world, source, row, t) {
  const support = source.support(row);
  const estimate = source.estimate(row, t);
  return Array.from(support, (s, i) => ({ s, truth: world.probability(row, s), estimated: estimate[i] }));
}

/** The outcomes that are shown, and the others: all, or of many the likeliest few that are likelier than the least likely. */
function shortened(outcomes) {
  if (outcomes.length <= MOST) return [outcomes, []];
  const weight = (o) => Math.max(o.truth, o.estimated);
  const least = Math.min(...outcomes.map(weight));
  const kept = outcomes.filter((o) => weight(o) > least + 1e-12).sort((one, other) => weight(other) - weight(one)).slice(0, SHOWN);
  return [kept.sort((one, other) => one.s - other.s), outcomes.filter((o) => !kept.includes(o))];
}

/** What is said of outcomes that are not shown, such as "and 176 others: 0 true, 0.005 estimated each". */
function spokenOthers(others, all, blind) {
  const said = (kind, name) => {
    const [least, most] = [Math.min, Math.max].map((end) => end(...others.map((o) => o[kind])));
    return `${most - least > 1e-12 ? "up to " : ""}${brief(most)} ${name}`;
  };
  const count = all ? `all ${others.length}` : `and ${others.length} other${others.length > 1 ? "s" : ""}`;
  return `${count}: ${blind ? "" : `${said("truth", "true")}, `}${said("estimated", "estimated")} each`;
}

function spokenOutcome(world, o, blind) {
  const truth = blind ? "" : `${brief(o.truth)} true, `;
  return `to ${world.spoken(o.s)}: ${truth}${brief(o.estimated)} estimated`;
}

/** What the height of bars stands for: a round number that none exceeds. */
function topOfBars(outcomes) {
  const most = Math.max(...outcomes.map((o) => Math.max(o.truth, o.estimated)));
  return [0.1, 0.25, 0.5, 1].find((top) => most <= top) || 1;
}

function bars(world, outcomes, blind, top) {
  const [shown, others] = shortened(outcomes);
  const more = others.length ? spokenOthers(others, !shown.length, blind) : "";
  const below = more ? [element("p", { class: "more", text: more })] : [];
  if (!shown.length) return below;
  const upright = shown.length > WIDE;
  const longest = upright ? 9 : 6;
  const columns = shown.map((o) => {
    const pair = element("span", { class: "pair" });
    for (const [kind, p] of [["estimated", o.estimated], ...(blind ? [] : [["truth", o.truth]])]) {
      const bar = element("span", { class: kind });
      bar.style.height = `${(100 * p) / top}%`;
      pair.append(bar);
    }
    const label = world.states[o.s];
    return element("span", { class: "outcome", title: spokenOutcome(world, o, blind) }, pair,
      element("span", { class: "to", text: label.length > longest ? `${label.slice(0, longest - 1)}…` : label }));
  });
  const said = [...shown.map((o) => spokenOutcome(world, o, blind)), ...(more ? [more] : [])].join("; ");
  const scale = element("span", { class: "bars-top", text: top });
  const chart = element("div", { class: upright ? "bars upright" : "bars", role: "img", "aria-label": said }, scale, ...columns);
  return [chart, ...below];
}

/**
 * Fill `place` with what is known of state s at time t.
 * values: of each action, or null if they are not known; alike: whether any action is as good; next: the action taken next, or -1; blind: hide the truth.
 */
export function showDetails(place, { world, source, s, t, values, alike, next, blind, followed }) {
  const missing = Array.from({ length: world.nActions }, (_, a) => world.row(a, s));
  const bits = missing.reduce((sum, row) => sum + (blind ? source.shownMissing(row) : source.missing(row, t)), 0);
  const name = world.spoken(s); // of a label every letter counts: a and A may be two states
  const heading = element("h3", { text: world.labelled ? name : name.charAt(0).toUpperCase() + name.slice(1) });
  if (followed) heading.append(element("span", { class: "tag", text: blind ? "where you are" : "where the agent is" }));
  const visits = source.visits(s, t);
  const facts = element("p", { class: "facts",
    text: `${brief(bits)} bits ${blind ? "expected to be " : ""}missing · visited ${visits === 1 ? "once" : `${visits} times`}` });
  if (world.terminal.has(s)) {
    place.replaceChildren(heading, facts, element("p", { class: "facts", text: "Episodes end here: no action is taken." }));
    return;
  }
  const best = values ? Math.max(...values) : NaN;
  const outcomes = world.actions.map((_, a) => outcomesOf(world, source, world.row(a, s), t).map((o) => (blind ? { ...o, truth: 0 } : o)));
  const scale = topOfBars(outcomes.flat());
  const blocks = world.actions.map((_, a) => {
    const row = world.row(a, s);
    const isBest = values && values[a] >= best - 1e-12 * Math.abs(best) && Math.min(...values) < best;
    const top = element("p", { class: "action" }, element("b", { text: world.spokenAction(a) }));
    if (isBest) top.append(element("span", { class: "tag best", text: "best" }));
    if (a === next) top.append(element("span", { class: "tag", text: "taken next" }));
    const { name: utility, unit } = source.utilityIs;
    top.append(element("span", { class: "tried", text: `tried ${source.tries(row, t)}×` }));
    const worth = values ? `value ${brief(values[a])}` : alike ? "any action alike" : "value not known here";
    const line = `${blind ? "" : `${worth} · `}${utility} ${withUnit(source.utility(row, t), unit)}`;
    return element("div", { class: "block", "data-a": a }, top, element("p", { class: "worth", text: line }),
      ...bars(world, outcomes[a], blind, scale));
  });
  const legend = element("p", { class: "legend" }, element("i", { class: "estimated" }), " estimated");
  if (!blind) legend.append(element("i", { class: "truth" }), " true");
  place.replaceChildren(heading, facts, legend, element("div", { class: "blocks" }, ...blocks));
}
