// Beliefs of a person who takes over: Bayes' rule for the priors of the paper.

/** Return a generator of uniform numbers in [0, 1) from a seed (mulberry32). */
export function generator(seed) {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Logarithmic derivative of the gamma function: recurrence up to x = 12, then the asymptotic series. */
export function digamma(x) {
  let sum = 0;
  while (x < 12) {
    sum -= 1 / x;
    x += 1;
  }
  const y = 1 / (x * x);
  const tail = y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y * (1 / 132)))));
  return sum + Math.log(x) - 1 / (2 * x) - tail;
}

const excess = (x) => (x + 1) * Math.log1p(1 / x) - 1;

/** Dirichlet rows: with counts n over S states, theta_hat = (alpha + n) / (alpha S + K). */
class DirichletRows {
  constructor(belief) {
    this.alpha = belief.alpha;
  }

  estimate(counts) {
    const kappa = counts.reduce((sum, n) => sum + n, this.alpha * counts.length);
    return counts.map((n) => (this.alpha + n) / kappa);
  }

  /** Predicted information gain in bits (Eq. 11). */
  pig(counts) {
    let kappa = 0;
    let total = 0;
    for (const n of counts) {
      kappa += this.alpha + n;
      total += (this.alpha + n) * excess(this.alpha + n);
    }
    return Math.max(total - kappa * excess(kappa), 0) / (kappa * (kappa + 1)) / Math.LN2;
  }

  /** E[D(theta || theta_hat)] in bits: the entropy of the estimate minus the expected entropy of the row. */
  expected(counts) {
    const kappa = counts.reduce((sum, n) => sum + n, this.alpha * counts.length);
    let nats = -digamma(kappa + 1);
    for (const n of counts) nats += ((this.alpha + n) / kappa) * (digamma(this.alpha + n + 1) - Math.log((this.alpha + n) / kappa));
    return Math.max(nats, 0) / Math.LN2;
  }
}

/** Rows of 1-2-3 Worlds: action a has a + 1 equally likely targets. Tables are by number of targets seen, and whether state 0 is one. */
class TargetRows {
  constructor(tables, nActions) {
    Object.assign(this, tables);
    this.nActions = nActions;
  }

  tableIndex(counts, a) {
    const seen = counts.reduce((sum, n) => sum + (n > 0), 0);
    return (a * (this.nActions + 1) + seen) * 2 + (counts[0] > 0);
  }

  estimate(counts, a) {
    const i = this.tableIndex(counts, a);
    return counts.map((n, s) => (n > 0 ? 1 / (a + 1) : s === 0 ? this.first[i] : this.other[i]));
  }

  pig(counts, a) {
    return this.pigTable[this.tableIndex(counts, a)];
  }

  expected(counts, a) {
    return this.expectedTable[this.tableIndex(counts, a)];
  }
}

/** A person who replaces an agent, with the same start, world and prior. Methods return values at the current time. */
export class Person {
  constructor(world, run, seed, unpack) {
    Object.assign(this, { name: "You", world, run, random: generator(seed) });
    this.utilityInfo = { name: "PIG", unit: "bits", own: true };
    const { belief } = run;
    this.rows = belief.kind === "dirichlet" ? new DirichletRows(belief)
      : new TargetRows({ first: unpack(belief.first), other: unpack(belief.other), pigTable: unpack(belief.pig),
        expectedTable: unpack(belief.expected) }, world.nActions);
    this.counts = Array.from({ length: world.nRows }, (_, row) => Array(run.support(row).length).fill(0));
    this.visited = Array(world.nStates).fill(0);
    this.states = [run.stateAt(0)];
    this.visited[run.stateAt(0)] = 1;
    this.actions = [];
    this.nextStates = [];
    this.missingByRow = this.counts.map((_, row) => this.missing(row));
    this.curve = [this.missingByRow.reduce((sum, bits) => sum + bits, 0)];
  }

  get nSteps() {
    return this.actions.length;
  }

  stateAt(t) {
    return this.states[Math.min(t, this.nSteps)];
  }

  support(row) {
    return this.run.support(row);
  }

  estimate(row) {
    return this.rows.estimate(this.counts[row], row % this.world.nActions);
  }

  utility(row) {
    return this.isTerminalRow(row) ? 0 : this.rows.pig(this.counts[row], row % this.world.nActions);
  }

  /** Expected missing information of a row in bits, which the person may see. */
  expectedMissing(row) {
    return this.isTerminalRow(row) ? 0 : this.rows.expected(this.counts[row], row % this.world.nActions);
  }

  isTerminalRow(row) {
    return this.world.terminal.has(Math.floor(row / this.world.nActions));
  }

  /** True missing information of a row in bits, which only the page knows. */
  missing(row) {
    if (this.world.uncounted.has(Math.floor(row / this.world.nActions))) return 0;
    const support = this.support(row);
    return this.estimate(row).reduce((bits, p, i) => {
      const theta = this.world.probability(row, support[i]);
      return theta > 0 ? bits + theta * Math.log2(theta / p) : bits;
    }, 0);
  }

  visits(s) {
    return this.visited[s];
  }

  tries(row) {
    return this.counts[row].reduce((sum, n) => sum + n, 0);
  }

  /** Take an action and return the next state, which is drawn from the world unless `outcome` is given. */
  take(a, outcome = null) {
    const s = this.states[this.nSteps];
    const row = this.world.row(a, s);
    const sNext = outcome === null ? this.world.sample(row, this.random()) : outcome;
    this.counts[row][this.support(row).indexOf(sNext)] += 1;
    const missing = this.missing(row);
    this.curve.push(this.curve[this.nSteps] + missing - this.missingByRow[row]);
    this.missingByRow[row] = missing;
    this.actions.push(a);
    this.nextStates.push(sNext);
    this.visited[sNext] += 1;
    const next = this.world.terminal.has(sNext) ? this.world.drawStart(this.random()) : sNext;
    if (next !== sNext) this.visited[next] += 1;
    this.states.push(next);
    return sNext;
  }
}
