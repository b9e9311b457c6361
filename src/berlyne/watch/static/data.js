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
    Object.assign(this, { name: data.name, states: data.states, actions: data.actions, labelled: data.labelled });
    Object.assign(this, { laidOut: data.laid_out, listed: data.listed });
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
    this.maze = data.maze && {
      side: data.maze.side,
      base: data.maze.base,
      passages: unpack(data.maze.passages),
      transporters: unpack(data.maze.transporters),
    };
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

  /** Whether a step between two rooms is a jump through a transporter, because no passage joins them. */
  isJump(s, sNext) {
    if (!this.maze || s === sNext) return false;
    const { side, passages } = this.maze;
    const step = { [-side]: 0, [side]: 1, [-1]: 2, [1]: 3 }[sNext - s];
    return step === undefined || !passages[4 * s + step];
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

/** One recorded exploration; time t is after t steps. */
export class Run {
  constructor(data, world) {
    Object.assign(this, { name: data.name, utilityInfo: data.utility, relocates: data.relocates, world });
    this.nSteps = data.n_steps;
    this.belief = data.belief;
    this.states = unpack(data.states);
    this.actions = unpack(data.actions);
    this.nextStates = unpack(data.next_states);
    this.curve = unpack(data.missing);
    this.lowest = this.curve.slice();
    for (let t = 1; t <= this.nSteps; t += 1) this.lowest[t] = Math.min(this.lowest[t], this.lowest[t - 1]);
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
    if (this.lowest[this.nSteps] > bits) return -1;
    let low = 0;
    let high = this.nSteps;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.lowest[middle] <= bits) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

/** Return the value that each state is shaded by: missing bits of its rows, visits, or the utility of its best action. */
export function shadeOf(source, world, kind, t) {
  const values = new Float64Array(world.nStates);
  for (let s = 0; s < world.nStates; s += 1) {
    if (kind === "visits") values[s] = source.visits(s, t);
    for (let a = 0; a < world.nActions && kind !== "visits"; a += 1) {
      const row = world.row(a, s);
      if (kind === "missing") values[s] += source.expectedMissing ? source.expectedMissing(row) : source.missing(row, t);
      else values[s] = a ? Math.max(values[s], source.utility(row, t)) : source.utility(row, t);
    }
  }
  return values;
}
