// Details of one state: the true and the estimated distribution of each action, its value and its utility.
import { formatShort, shortenMiddle, withUnit } from "./numbers.js";

const MAX_OUTCOMES = 24; // with more outcomes, only some are shown
const N_SHOWN = 10; // largest number of outcomes that are shown in that case
const MAX_HORIZONTAL = 10; // with more outcomes, their names are vertical

/** Create an element; its text is never parsed as markup. */
export function element(tag, { text, ...attributes } = {}, ...children) {
  const created = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null) created.setAttribute(name, value);
  if (text !== undefined) created.textContent = text;
  created.append(...children);
  return created;
}

/** Return the outcomes of a row: [{s, truth, estimated}]. */
export function outcomesOf(world, source, row, t) {
  const support = source.support(row);
  const estimate = source.estimate(row, t);
  return Array.from(support, (s, i) => ({ s, truth: world.probability(row, s), estimated: estimate[i] }));
}

/** Return the outcomes that are shown, and the others. Of many outcomes, the likeliest few are shown, without those that tie for least likely. */
function splitOutcomes(outcomes) {
  if (outcomes.length <= MAX_OUTCOMES) return [outcomes, []];
  const weight = (o) => Math.max(o.truth, o.estimated);
  const smallest = Math.min(...outcomes.map(weight));
  const shown = outcomes.filter((o) => weight(o) > smallest + 1e-12).sort((a, b) => weight(b) - weight(a)).slice(0, N_SHOWN);
  return [shown.sort((a, b) => a.s - b.s), outcomes.filter((o) => !shown.includes(o))];
}

/** Describe the outcomes that are not shown, such as "176 more outcomes, each 0 true, 0.005 estimated". */
function describeOthers(world, others, all, hidesTruth) {
  const describeKind = (kind, name) => {
    const [smallest, largest] = [Math.min, Math.max].map((end) => end(...others.map((o) => o[kind])));
    return `${largest - smallest > 1e-12 ? "at most " : ""}${formatShort(largest)} ${name}`;
  };
  const count = all ? `all ${others.length} outcomes` : `${others.length} more outcomes`;
  return `${count}, each ${hidesTruth ? "" : `${describeKind("truth", world.truthWord)}, `}${describeKind("estimated", "estimated")}`;
}

function describeOutcome(world, o, hidesTruth) {
  const truth = hidesTruth ? "" : `${formatShort(o.truth)} ${world.truthWord}, `;
  return `to ${world.stateName(o.s)}: ${truth}${formatShort(o.estimated)} estimated`;
}

/** Return the probability at the top of the bars: a round number that none exceeds. */
function barScale(outcomes) {
  const largest = Math.max(...outcomes.map((o) => Math.max(o.truth, o.estimated)));
  return [0.1, 0.25, 0.5, 1].find((top) => largest <= top) || 1;
}

function bars(world, outcomes, hidesTruth, top) {
  const [shown, others] = splitOutcomes(outcomes);
  const note = others.length ? describeOthers(world, others, !shown.length, hidesTruth) : "";
  const below = note ? [element("p", { class: "more", text: note })] : [];
  if (!shown.length) return below;
  const vertical = shown.length > MAX_HORIZONTAL;
  const maxLength = vertical ? 9 : 6;
  const columns = shown.map((o) => {
    const pair = element("span", { class: "pair" });
    for (const [kind, p] of [["estimated", o.estimated], ...(hidesTruth ? [] : [["truth", o.truth]])]) {
      const bar = element("span", { class: kind });
      bar.style.height = `${(100 * p) / top}%`;
      pair.append(bar);
    }
    const label = world.states[o.s];
    return element("span", { class: "outcome", title: describeOutcome(world, o, hidesTruth) }, pair,
      element("span", { class: "to", text: shortenMiddle(label, maxLength) }));
  });
  const description = [...shown.map((o) => describeOutcome(world, o, hidesTruth)), ...(note ? [note] : [])].join("; ");
  const scale = element("span", { class: "bars-top", text: top });
  const chart = element("div", { class: vertical ? "bars upright" : "bars", role: "img", "aria-label": description }, scale, ...columns);
  return [chart, ...below];
}

/**
 * Fill `container` with the details of state s at time t.
 * values: of each action, or null if they are not known; allEqual: whether the strategy has no preference; next: the action
 * taken next, or -1; hidesTruth: whether true probabilities are hidden; isCurrent: whether the agent or person is in state s;
 * isPerson: whether it is a person.
 */
export function showDetails(container, { world, source, s, t, values, allEqual, next, hidesTruth, isCurrent, isPerson }) {
  const rows = Array.from({ length: world.nActions }, (_, a) => world.row(a, s));
  const bits = rows.reduce((sum, row) => sum + (hidesTruth ? source.expectedMissing(row, t) : source.missing(row, t)), 0);
  const name = world.stateName(s); // labels are not capitalised: "a" and "A" may be two states
  const heading = element("h3", { text: world.labelled ? name : name.charAt(0).toUpperCase() + name.slice(1) });
  if (isCurrent) heading.append(element("span", { class: "tag", text: isPerson ? hidesTruth ? "where you are" : "where you were" : "where the agent is" }));
  const visits = source.visits(s, t);
  const facts = element("p", { class: "facts",
    text: `${formatShort(bits)} bits missing${hidesTruth ? " (expected)" : ""} · visited ${visits === 1 ? "once" : `${visits} times`}` });
  if (world.terminal.has(s)) {
    container.replaceChildren(heading, facts, element("p", { class: "facts", text: "Episodes end here. No action is taken." }));
    return;
  }
  const best = values ? Math.max(...values) : NaN;
  const outcomes = world.actions.map((_, a) => outcomesOf(world, source, world.row(a, s), t).map((o) => (hidesTruth ? { ...o, truth: 0 } : o)));
  const scale = barScale(outcomes.flat());
  const blocks = world.actions.map((_, a) => {
    const row = world.row(a, s);
    const isBest = values && values[a] >= best - 1e-12 * Math.abs(best) && Math.min(...values) < best;
    const top = element("p", { class: "action" }, element("b", { text: world.actionName(a) }));
    if (world.forbidden.has(row)) top.append(element("span", { class: "tag", text: "not possible" }));
    if (isBest) top.append(element("span", { class: "tag best", text: "best" }));
    if (a === next) top.append(element("span", { class: "tag", text: "taken next" }));
    const { name: utility, unit } = source.utilityInfo;
    top.append(element("span", { class: "tried", text: `tried ${source.tries(row, t)}×` }));
    const value = values ? `value ${formatShort(values[a])}` : allEqual ? "all actions equal" : "value not known here";
    const parts = [...(hidesTruth ? [] : [value]), `${utility} ${withUnit(source.utility(row, t), unit)}`];
    const line = parts.flatMap((text, i) => [...(i ? [" · "] : []), element("span", { text })]);
    return element("div", { class: "block", "data-a": a }, top, element("p", { class: "worth" }, ...line),
      ...bars(world, outcomes[a], hidesTruth, scale));
  });
  const legend = element("p", { class: "legend" }, element("i", { class: "estimated" }), " estimated");
  if (!hidesTruth) legend.append(element("i", { class: "truth" }), ` ${world.truthWord}`);
  container.replaceChildren(heading, facts, legend, element("div", { class: "blocks" }, ...blocks));
}
