// The same observations under other settings: another planning depth, or another concentration of the prior.
import { rowsOf } from "./belief.js";

/** Whether the page can compute values with any planning depth for a run or a person. */
export function canPlan(source) {
  return source.planning !== null;
}

/** Whether the page can compute beliefs and PIG with any alpha for a run or a person. */
export function canChangeAlpha(source) {
  return canPlan(source) && source.belief !== null && source.belief.kind === "dirichlet" && source.utilityInfo.name === "PIG";
}

/** A run or a person whose values are computed with another depth or another alpha; null keeps the own setting. */
export class WhatIf {
  constructor(source, depth, alpha) {
    Object.assign(this, { source, depth, alpha });
    for (const name of ["name", "world", "belief", "planning", "utilityInfo", "states", "actions", "nextStates", "curve"]) this[name] = source[name];
    this.rows = alpha === null ? null : rowsOf(source.belief, source.world.nActions, alpha);
    const { gamma = 1, after_end: afterEnd = "restart", truth = false } = source.method;
    this.method = depth === null ? source.method : { kind: "plan", steps_back: depth, gamma, after_end: afterEnd, truth };
  }

  get nSteps() {
    return this.source.nSteps;
  }

  stateAt(t) {
    return this.source.stateAt(t);
  }

  support(row) {
    return this.source.support(row);
  }

  estimate(row, t) {
    return this.rows ? this.rows.estimate(this.source.countsAt(row, t), row % this.world.nActions) : this.source.estimate(row, t);
  }

  utility(row, t) {
    if (!this.rows) return this.source.utility(row, t);
    if (this.world.terminal.has(Math.floor(row / this.world.nActions))) return 0;
    return this.rows.pig(this.source.countsAt(row, t), row % this.world.nActions);
  }

  missing(row, t) {
    return this.source.missing(row, t);
  }

  expectedMissing(row, t) {
    return this.source.expectedMissing(row, t);
  }

  visits(s, t) {
    return this.source.visits(s, t);
  }

  tries(row, t) {
    return this.source.tries(row, t);
  }

  lastTry(row, t) {
    return this.source.lastTry(row, t);
  }
}

/** Return the source itself, or what it would believe and plan under other settings that apply to it. */
export function underSettings(source, { depth, alpha }) {
  const own = source.belief && source.belief.alpha;
  const changedDepth = canPlan(source) ? depth : null;
  const changedAlpha = canChangeAlpha(source) && alpha !== own ? alpha : null;
  return changedDepth === null && changedAlpha === null ? source : new WhatIf(source, changedDepth, changedAlpha);
}
