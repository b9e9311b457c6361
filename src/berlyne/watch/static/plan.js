// Action values of a strategy from its beliefs at a time; the methods are those of coordination.py.

/** Return the terminal states that an explorer knows at time t, and pairs of a state in which episodes begin and its share. */
function episodesAt(planning, afterEnd, t) {
  const terminal = new Set();
  for (const [when, s, isTerminal] of planning.ends) {
    if (when <= t) terminal[isTerminal ? "add" : "delete"](s);
  }
  const begun = afterEnd === "stop" ? [] : planning.starts.filter(([when]) => when <= t);
  const total = begun.reduce((sum, [, , weight]) => sum + weight, 0);
  return { terminal, starts: begun.map(([, s, weight]) => [s, weight / total]) };
}

/**
 * Return Q of every row by backward induction: Q_0 = U, then Q = U + gamma sum theta_hat max Q, `steps_back` times.
 * The maximum is over the actions that are not forbidden. After a terminal state a plan goes on where episodes begin.
 */
export function planValues(world, run, t) {
  const { steps_back: stepsBack, gamma, truth } = run.method;
  const utility = Float64Array.from({ length: world.nRows }, (_, row) => run.utility(row, t));
  const rows = Array.from({ length: world.nRows }, (_, row) =>
    truth
      ? [world.indices.subarray(world.indptr[row], world.indptr[row + 1]),
        world.theta.subarray(world.indptr[row], world.indptr[row + 1])]
      : [run.support(row), run.estimate(row, t)]);
  let q = utility.map((u, row) => (world.forbidden.has(row) ? -Infinity : u));
  const best = new Float64Array(world.nStates);
  const { terminal, starts } = episodesAt(run.planning, run.method.after_end, t);
  for (let step = 0; step < stepsBack; step += 1) {
    for (let s = 0; s < world.nStates; s += 1) {
      best[s] = q[world.row(0, s)];
      for (let a = 1; a < world.nActions; a += 1) best[s] = Math.max(best[s], q[world.row(a, s)]);
    }
    const afterEnd = starts.reduce((sum, [s, share]) => sum + share * best[s], 0);
    for (const s of terminal) best[s] = afterEnd;
    q = utility.map((u, row) => {
      if (world.forbidden.has(row)) return -Infinity;
      const [states, p] = rows[row];
      let future = 0;
      for (let i = 0; i < p.length; i += 1) future += p[i] * best[states[i]];
      return u + gamma * future;
    });
  }
  return q;
}

/** Return minus the expected number of visits of the next state of a row, if the agent is in state s. */
function expectedVisits(run, row, s, t) {
  const support = run.support(row);
  const p = run.estimate(row, t);
  let sum = 0;
  for (let i = 0; i < p.length; i += 1) {
    const arrives = support[i] === s && s !== run.stateAt(t) ? 1 : 0;
    sum += p[i] * (run.visits(support[i], t) + arrives);
  }
  return -sum;
}

const planCache = new WeakMap();

/** Return planned values at time t; those of the last time are kept. */
function cachedPlan(world, run, t) {
  const key = `${t} ${run.nSteps}`;
  if (!planCache.has(run) || planCache.get(run).key !== key) planCache.set(run, { key, q: planValues(world, run, t) });
  return planCache.get(run).q;
}

/** Return the values of actions in every state at time t, as an array of arrays; null if they are not known in every state. */
function valuesInAllStates(world, run, t) {
  if (["here", "unknown"].includes(run.method.kind)) return null;
  return Array.from({ length: world.nStates }, (_, s) => actionValues(world, run, t, s));
}

/** Return the value of the best possible action in each state; null if values are not known in every state. Terminal states have none (0). */
export function stateValues(world, run, t) {
  const values = valuesInAllStates(world, run, t);
  return values && Float64Array.from(values, (ofActions, s) => {
    const possible = ofActions.filter((_, a) => !world.forbidden.has(world.row(a, s)));
    return world.terminal.has(s) ? 0 : Math.max(...possible);
  });
}

/** Return the best action in every state at time t, -1 if several are best; null if there are no preferences in every state. */
export function bestActions(world, run, t) {
  if (!["plan", "utility", "learned"].includes(run.method.kind)) return null;
  return valuesInAllStates(world, run, t).map((values) => {
    const best = Math.max(...values);
    const tied = values.filter((value) => value >= best - 1e-12 * Math.abs(best));
    return tied.length === 1 ? values.indexOf(best) : -1;
  });
}

/** Return the value of each action in state s at time t; null if values are not known there. */
export function actionValues(world, run, t, s) {
  const { kind } = run.method;
  const rows = Array.from({ length: world.nActions }, (_, a) => world.row(a, s));
  if (kind === "plan") {
    const q = cachedPlan(world, run, t);
    return rows.map((row) => q[row]);
  }
  if (kind === "utility") return rows.map((row) => run.utility(row, t));
  if (kind === "taken") return rows.map((row) => -run.tries(row, t));
  if (kind === "visits") return rows.map((row) => expectedVisits(run, row, s, t));
  if (kind === "same") return rows.map(() => 0);
  if (kind === "learned") {
    return rows.map((row) => {
      const step = run.lastTry(row, t);
      return step < 0 ? run.method.first[row] : run.method.entries[step];
    });
  }
  if (kind === "here" && s === run.stateAt(t)) {
    return rows.map((_, a) => run.method.values[t * world.nActions + a]);
  }
  return null;
}
