// Beliefs that the page computes itself: Bayes' rule for the priors of the paper.
import { unpack } from "./data.js";

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
  constructor(alpha) {
    this.alpha = alpha;
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

/** Return the rule that computes estimates from counts under a prior of the paper. */
export function rowsOf(belief, nActions, alpha = belief.alpha) {
  if (belief.kind === "dirichlet") return new DirichletRows(alpha);
  return new TargetRows({ first: unpack(belief.first), other: unpack(belief.other), pigTable: unpack(belief.pig),
    expectedTable: unpack(belief.expected) }, nActions);
}
