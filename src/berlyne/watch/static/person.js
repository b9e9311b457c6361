// A person who takes over from an agent, and the path and beliefs of that person at any time.
import { generator, rowsOf } from "./belief.js";
import { countUpTo, firstTimeAt, observedTransitions, runningMinimum } from "./data.js";

const STEPS_BACK = 10; // planned steps of the values that a person can look at, as in the paper

/** A person with the world, the prior and the first `begin` steps of a run. Time t is after t steps, by default the last. */
export class Person {
  constructor(world, run, seed, begin = 0) {
    Object.assign(this, { name: "You", world, run, begin, random: generator(seed), belief: run.belief, planning: run.planning });
    this.about = `Your own steps, after the first ${begin} of ${run.name}.`;
    if (!begin) this.about = "Your own steps, from the start.";
    this.utilityInfo = { name: "PIG", unit: "bits", own: true };
    this.method = run.planning ? { kind: "plan", steps_back: STEPS_BACK, gamma: 1, after_end: "restart", truth: false } : { kind: "unknown" };
    this.dash = [];
    this.rows = rowsOf(run.belief, world.nActions);
    this.counts = Array.from({ length: world.nRows }, (_, row) => Array(run.support(row).length).fill(0));
    this.trials = this.counts.map(() => []); // of each row: times, with the place of the outcome in the support
    this.visitTimes = Array.from({ length: world.nStates }, () => []);
    this.states = [run.stateAt(0)];
    this.visitTimes[run.stateAt(0)].push(0);
    this.actions = [];
    this.nextStates = [];
    this.missingByRow = this.counts.map((_, row) => this.missing(row));
    this.curve = [this.missingByRow.reduce((sum, bits) => sum + bits, 0)];
    this.largestMissing = Math.max(...this.states.map((s) => this._missingIn(s)), ...world.states.map((_, s) => this._missingIn(s)));
    for (let t = 0; t < begin; t += 1) this._learn(run.states[t], run.actions[t], run.nextStates[t], run.states[t + 1]);
  }

  get nSteps() {
    return this.actions.length;
  }

  get lowest() {
    return runningMinimum(this.curve);
  }

  get observed() {
    return observedTransitions(this);
  }

  stateAt(t) {
    return this.states[Math.min(t, this.nSteps)];
  }

  support(row) {
    return this.run.support(row);
  }

  countsAt(row, t = Infinity) {
    if (t >= this.nSteps) return this.counts[row];
    const counts = this.counts[row].map(() => 0);
    for (const [time, i] of this.trials[row]) if (time <= t) counts[i] += 1;
    return counts;
  }

  estimate(row, t = Infinity) {
    return this.rows.estimate(this.countsAt(row, t), row % this.world.nActions);
  }

  probability(row, i, t) {
    return this.estimate(row, t)[i];
  }

  utility(row, t = Infinity) {
    return this.isTerminalRow(row) ? 0 : this.rows.pig(this.countsAt(row, t), row % this.world.nActions);
  }

  /** Expected missing information of a row in bits, which the person may see. */
  expectedMissing(row, t = Infinity) {
    return this.isTerminalRow(row) ? 0 : this.rows.expected(this.countsAt(row, t), row % this.world.nActions);
  }

  isTerminalRow(row) {
    return this.world.terminal.has(Math.floor(row / this.world.nActions));
  }

  /** True missing information of a row in bits, which only the page knows while the person acts. */
  missing(row, t = Infinity) {
    const { world } = this;
    if (world.uncounted.has(Math.floor(row / world.nActions)) || world.forbidden.has(row)) return 0;
    const support = this.support(row);
    return this.estimate(row, t).reduce((bits, p, i) => {
      const theta = world.probability(row, support[i]);
      return theta > 0 ? bits + theta * Math.log2(theta / p) : bits;
    }, 0);
  }

  _missingIn(s) {
    const rows = Array.from({ length: this.world.nActions }, (_, a) => this.world.row(a, s));
    return rows.reduce((sum, row) => sum + this.missingByRow[row], 0);
  }

  visits(s, t = Infinity) {
    return countUpTo(this.visitTimes[s], t);
  }

  tries(row, t = Infinity) {
    return countUpTo(this.trials[row].map(([time]) => time), t);
  }

  timeAt(bits) {
    return firstTimeAt(this.lowest, bits);
  }

  /** Whether an action is possible where the person is. */
  canTake(a) {
    return !this.world.forbidden.has(this.world.row(a, this.stateAt(this.nSteps)));
  }

  /** Take an action and return the next state, which is drawn from the world unless `outcome` is given. */
  take(a, outcome = null) {
    const s = this.states[this.nSteps];
    const sNext = outcome === null ? this.world.sample(this.world.row(a, s), this.random()) : outcome;
    this._learn(s, a, sNext, this.world.terminal.has(sNext) ? this.world.drawStart(this.random()) : sNext);
    return sNext;
  }

  _learn(s, a, sNext, next) {
    const row = this.world.row(a, s);
    const i = this.support(row).indexOf(sNext);
    const t = this.nSteps + 1;
    this.counts[row][i] += 1;
    this.trials[row].push([t, i]);
    this.actions.push(a);
    this.nextStates.push(sNext);
    this.states.push(next);
    const missing = this.missing(row);
    this.curve.push(this.curve[t - 1] + missing - this.missingByRow[row]);
    this.missingByRow[row] = missing;
    this.largestMissing = Math.max(this.largestMissing, this._missingIn(s));
    this.visitTimes[sNext].push(t);
    if (next !== sNext) this.visitTimes[next].push(t);
  }
}
