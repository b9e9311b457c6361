// Data of the page: arrays decoded from bytes, and beliefs at any time, found by bisection.

const TYPES = { Uint8Array, Uint16Array, Uint32Array, Int32Array, Float64Array };

/** Decode an array from its bytes (little-endian, base64). */
export function unpack(packed) {
  const bytes = Uint8Array.from(atob(packed.bytes), (c) => c.charCodeAt(0));
  return new TYPES[packed.type](bytes.buffer);
}

/** Count how many of the ascending numbers times[begin..end) are at most t. */
export function countUpTo(times, t, begin = 0, end = times.length) {
  let low = begin;
  let high = end;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= t) low = middle + 1;
    else high = middle;
  }
  return low - begin;
}

/** Events in ascending order of time, grouped: those of group g are at start[g] to start[g + 1]. */
export class GroupedEvents {
  constructor(nGroups, groups, times) {
    this.start = new Uint32Array(nGroups + 1);
    for (const group of groups) this.start[group + 1] += 1;
    for (let g = 0; g < nGroups; g += 1) this.start[g + 1] += this.start[g];
    const next = this.start.slice();
    this.number = new Uint32Array(groups.length);
    this.time = new Uint32Array(groups.length);
    for (let i = 0; i < groups.length; i += 1) {
      const slot = next[groups[i]]++;
      this.number[slot] = i;
      this.time[slot] = times[i];
    }
  }

  /** Count the events of a group up to time t. */
  count(group, t) {
    return countUpTo(this.time, t, this.start[group], this.start[group + 1]);
  }

  /** Return the number of the last event of a group up to time t; -1 if there is none. */
  last(group, t) {
    const n = this.count(group, t);
    return n === 0 ? -1 : this.number[this.start[group] + n - 1];
  }
}

/** The true world. Row r = s * nActions + a is the distribution of the next state after action a in state s. */
export class World {
  constructor(data) {
    Object.assign(this, { name: data.name, states: data.states, actions: data.actions, labelled: data.labelled, fingerprint: data.fingerprint });
    Object.assign(this, { laidOut: data.laid_out, listed: data.listed, estimated: data.estimated });
    this.nStates = data.n_states;
    this.nActions = data.n_actions;
    this.places = unpack(data.places);
    this.terminal = new Set(data.terminal);
    this.forbidden = new Set(data.forbidden);
    this.uncounted = new Set(data.uncounted);  // terminal states, and those that cannot be reached
    this.startStates = unpack(data.start.states);
    this.startCumulative = unpack(data.start.cumulative);
    this.indptr = unpack(data.indptr);
    this.indices = unpack(data.indices);
    this.theta = unpack(data.theta);
    Object.assign(this, { kind: data.kind, directions: data.directions, marks: new Map(data.marks) });
    this.passages = data.passages && unpack(data.passages); // of squares: up, down, left and right of each
    this.maze = data.maze && { base: data.maze.base, transporters: unpack(data.maze.transporters) };
  }

  /** What the probabilities of the world are called; in an experiment the truth is unknown, and they are the last estimates. */
  get truthWord() {
    return this.estimated ? "final" : "true";
  }

  /** Whether states are squares: rooms of a maze or cells of a grid. */
  get isSquares() {
    return this.kind !== "graph";
  }

  get nRows() {
    return this.nStates * this.nActions;
  }

  row(a, s) {
    return s * this.nActions + a;
  }

  /** The true probability that a row leads to a state. */
  probability(row, sNext) {
    for (let i = this.indptr[row]; i < this.indptr[row + 1]; i += 1) if (this.indices[i] === sNext) return this.theta[i];
    return 0;
  }

  /** Draw the next state of a row with a uniform number u in [0, 1). */
  sample(row, u) {
    let sum = 0;
    for (let i = this.indptr[row]; i < this.indptr[row + 1]; i += 1) {
      sum += this.theta[i];
      if (u < sum) return this.indices[i];
    }
    return this.indices[this.indptr[row + 1] - 1];
  }

  /** Draw the start of an episode with a uniform number u in [0, 1). */
  drawStart(u) {
    const i = countUpTo(this.startCumulative, u);
    return this.startStates[Math.min(i, this.startStates.length - 1)];
  }

  /** Whether a step between two squares is a jump, because no passage joins them. */
  isJump(s, sNext) {
    if (!this.isSquares || s === sNext) return false;
    const [dx, dy] = [0, 1].map((k) => Math.round(this.places[2 * sNext + k] - this.places[2 * s + k]));
    const side = { "0,-1": 0, "0,1": 1, "-1,0": 2, "1,0": 3 }[`${dx},${dy}`];
    return side === undefined || !this.passages[4 * s + side];
  }

  /** Name of an action. */
  actionName(a) {
    return /^\d+$/.test(this.actions[a]) ? `action ${this.actions[a]}` : this.actions[a];
  }

  /** Name of a state for use in a sentence. */
  stateName(s) {
    return this.labelled ? this.states[s] : `${this.maze ? "room" : "state"} ${this.states[s]}`;
  }
}

/** Return the lowest value up to each time. */
export function runningMinimum(values) {
  const lowest = values.slice();
  for (let t = 1; t < lowest.length; t += 1) lowest[t] = Math.min(lowest[t], lowest[t - 1]);
  return lowest;
}

/** Return the first time at which at most this many bits were missing; -1 if there is none. */
export function firstTimeAt(lowest, bits) {
  let [low, high] = [0, lowest.length - 1];
  if (lowest[high] > bits) return -1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lowest[middle] <= bits) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** One recorded exploration; time t is after t steps. */
export class Run {
  constructor(data, world) {
    Object.assign(this, { name: data.name, utilityInfo: data.utility, relocates: data.relocates, world });
    Object.assign(this, { about: data.about, colour: data.colour, dash: data.dash.map((x) => 1.2 * x), planning: data.planning });
    this.nSteps = data.n_steps;
    this.belief = data.belief;
    this.states = unpack(data.states);
    this.actions = unpack(data.actions);
    this.nextStates = unpack(data.next_states);
    this.curve = unpack(data.missing);
    this.lowest = runningMinimum(this.curve);
    this._readBeliefs(data);
    this._readSteps();
    this.method = { ...data.method };
    for (const name of ["first", "entries", "values"]) {
      if (this.method[name]) this.method[name] = unpack(this.method[name]);
    }
  }

  _readBeliefs(data) {
    this.indptr = unpack(data.indptr);
    this.supports = unpack(data.support);
    this.values = unpack(data.values);
    this.entries = unpack(data.entries);
    this.eventUtility = unpack(data.event_utility);
    this.eventMissing = unpack(data.event_missing);
    const rows = unpack(data.event_row);
    this.events = new GroupedEvents(this.world.nRows, rows, unpack(data.event_time));
    this.eventBegin = new Uint32Array(rows.length + 1);
    for (let i = 0; i < rows.length; i += 1) {
      this.eventBegin[i + 1] = this.eventBegin[i] + this.indptr[rows[i] + 1] - this.indptr[rows[i]];
    }
  }

  _readSteps() {
    const visited = [this.states[0]];
    const when = [0];
    const rows = new Uint32Array(this.nSteps);
    const steps = new Uint32Array(this.nSteps);
    for (let t = 1; t <= this.nSteps; t += 1) {
      rows[t - 1] = this.world.row(this.actions[t - 1], this.states[t - 1]);
      steps[t - 1] = t;
      visited.push(this.nextStates[t - 1]);
      when.push(t);
      if (this.nextStates[t - 1] === this.states[t]) continue;
      visited.push(this.states[t]); // a new episode began there, or the agent relocated
      when.push(t);
    }
    this.visitTimes = new GroupedEvents(this.world.nStates, visited, when);
    this.tryTimes = new GroupedEvents(this.world.nRows, rows, steps);
  }

  stateAt(t) {
    return this.states[t];
  }

  /** The states that the explorer ever considered possible after a row, ascending. */
  support(row) {
    return this.supports.subarray(this.indptr[row], this.indptr[row + 1]);
  }

  /** theta_hat of a row over its support. */
  estimate(row, t) {
    const event = this.events.last(row, t);
    const theta = new Float64Array(this.indptr[row + 1] - this.indptr[row]);
    for (let i = 0; i < theta.length; i += 1) theta[i] = this.values[this.entries[this.eventBegin[event] + i]];
    return theta;
  }

  utility(row, t) {
    return this.eventUtility[this.events.last(row, t)];
  }

  /** Missing information of a row, in bits. */
  missing(row, t) {
    return this.eventMissing[this.events.last(row, t)];
  }

  visits(s, t) {
    return this.visitTimes.count(s, t);
  }

  /** Number of times that a row was tried. */
  tries(row, t) {
    return this.tryTimes.count(row, t);
  }

  /** The last step before time t that tried a row; -1 if there is none. */
  lastTry(row, t) {
    return this.tryTimes.last(row, t);
  }

  /** The first time at which at most this many bits were missing; -1 if there is none. */
  timeAt(bits) {
    return firstTimeAt(this.lowest, bits);
  }

  /** How often each state of the support was observed after a row. */
  countsAt(row, t) {
    const support = this.support(row);
    const counts = Array(support.length).fill(0);
    const first = this.tryTimes.start[row];
    for (let i = first; i < first + this.tries(row, t); i += 1) counts[support.indexOf(this.nextStates[this.tryTimes.number[i]])] += 1;
    return counts;
  }

  /** Estimated probability of state number i of a row's support. */
  probability(row, i, t) {
    return this.values[this.entries[this.eventBegin[this.events.last(row, t)] + i]];
  }

  /** Return the transitions that were observed, in the order of their first observation: [{key, row, i, time}]. */
  get observed() {
    this._observed ??= observedTransitions(this);
    return this._observed;
  }

  /** The largest missing information of any state at any time, in bits, in one pass over the changes of rows. */
  get largestMissing() {
    const { world, events } = this;
    const bits = new Float64Array(world.nStates);
    const now = new Float64Array(world.nRows);
    const rows = new Uint32Array(events.number.length);
    for (let row = 0; row < world.nRows; row += 1) {
      for (let i = events.start[row]; i < events.start[row + 1]; i += 1) rows[events.number[i]] = row;
    }
    let largest = 0;
    rows.forEach((row, event) => {
      const s = Math.floor(row / world.nActions);
      bits[s] += this.eventMissing[event] - now[row];
      now[row] = this.eventMissing[event];
      if (event >= world.nRows - 1) largest = Math.max(largest, event === world.nRows - 1 ? Math.max(...bits) : bits[s]);
    });
    return largest;
  }
}

/** Return the distinct transitions of a path: their key s * nStates + sNext, row, place i in the support, and first time. */
export function observedTransitions(source) {
  const { world } = source;
  const seen = new Set();
  const found = [];
  for (let t = 0; t < source.nSteps; t += 1) {
    const [s, sNext] = [source.states[t], source.nextStates[t]];
    const row = world.row(source.actions[t], s);
    const code = row * world.nStates + sNext;
    if (seen.has(code)) continue;
    seen.add(code);
    found.push({ key: s * world.nStates + sNext, row, i: source.support(row).indexOf(sNext), time: t + 1 });
  }
  return found;
}

/** Return the value that each state is shaded by: missing or expected missing bits of its rows, visits, or the utility of its best action. */
export function shadeOf(source, world, kind, t) {
  const values = new Float64Array(world.nStates);
  for (let s = 0; s < world.nStates; s += 1) {
    if (kind === "visits") values[s] = source.visits(s, t);
    for (let a = 0; a < world.nActions && kind !== "visits"; a += 1) {
      const row = world.row(a, s);
      if (kind === "missing") values[s] += source.missing(row, t);
      else if (kind === "expected") values[s] += source.expectedMissing(row, t);
      else values[s] = a ? Math.max(values[s], source.utility(row, t)) : source.utility(row, t);
    }
  }
  return values;
}
