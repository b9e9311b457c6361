// What a person who takes over comes to believe: Bayes' rule for the priors of the paper.

/** Uniform numbers in [0, 1) from a seed: mulberry32. */
export function generator(seed) {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Logarithmic derivative of the gamma function: upwards by recurrence, then the asymptotic series. */
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

/** Rows of 1-2-3 Worlds: action a has a + 1 equally likely targets; tables by targets seen, and whether 0 is one. */
class TargetRows {
  constructor(tables, nActions) {
    Object.assign(this, tables);
    this.nActions = nActions;
  }

  line(counts, a) {
    const seen = counts.reduce((sum, n) => sum + (n > 0), 0);
    return (a * (this.nActions + 1) + seen) * 2 + (counts[0] > 0);
  }

  estimate(counts, a) {
    const line = this.line(counts, a);
    return counts.map((n, s) => (n > 0 ? 1 / (a + 1) : s === 0 ? this.first[line] : this.other[line]));
  }

  pig(counts, a) {
    return this.pigs[this.line(counts, a)];
  }

  expected(counts, a) {
    return this.expecteds[this.line(counts, a)];
  }
}

/** A person in the place of an agent: the same start, the same world, the same prior. Always at the present. */
export class Person {
  constructor(world, run, seed, unpack) {
    Object.assign(this, { name: "You", world, like: run, random: generator(seed) });
    this.utilityIs = { name: "PIG", unit: "bits", own: true };
    const { belief } = run;
    this.rows = belief.kind === "dirichlet" ? new DirichletRows(belief)
      : new TargetRows({ first: unpack(belief.first), other: unpack(belief.other), pigs: unpack(belief.pig),
        expecteds: unpack(belief.expected) }, world.nActions);
    this.counts = Array.from({ length: world.nRows }, (_, row) => Array(run.support(row).length).fill(0));
    this.visited = Array(world.nStates).fill(0);
    this.states = [run.stateAt(0)];
    this.visited[run.stateAt(0)] = 1;
    this.actions = [];
    this.nextStates = [];
    this.known = this.counts.map((_, row) => this.missing(row));
    this.curve = [this.known.reduce((sum, bits) => sum + bits, 0)];
  }

  get nSteps() {
    return this.actions.length;
  }

  stateAt(t) {
    return this.states[Math.min(t, this.nSteps)];
  }

  support(row) {
    return this.like.support(row);
  }

  estimate(row) {
    return this.rows.estimate(this.counts[row], row % this.world.nActions);
  }

  utility(row) {
    return this.isOver(row) ? 0 : this.rows.pig(this.counts[row], row % this.world.nActions);
  }

  /** What the person may know of what is missing: what is expected to be. */
  shownMissing(row) {
    return this.isOver(row) ? 0 : this.rows.expected(this.counts[row], row % this.world.nActions);
  }

  isOver(row) {
    return this.world.terminal.has(Math.floor(row / this.world.nActions));
  }

  /** Missing information of a row in bits, which only the page knows. */
  missing(row) {
    if (this.isOver(row)) return 0;
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

  /** Take an action; what follows is drawn from the world, unless it is given. */
  take(a, given = null) {
    const s = this.states[this.nSteps];
    const row = this.world.row(a, s);
    const sNext = given === null ? this.world.sample(row, this.random()) : given;
    this.counts[row][this.support(row).indexOf(sNext)] += 1;
    const missing = this.missing(row);
    this.curve.push(this.curve[this.nSteps] + missing - this.known[row]);
    this.known[row] = missing;
    this.actions.push(a);
    this.nextStates.push(sNext);
    this.visited[sNext] += 1;
    const next = this.world.terminal.has(sNext) ? this.world.begin(this.random()) : sNext;
    if (next !== sNext) this.visited[next] += 1;
    this.states.push(next);
    return sNext;
  }
}
