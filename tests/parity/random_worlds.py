"""Compiled and NumPy agents in random small worlds: python tests/parity/random_worlds.py 500.

Worlds, priors, strategies, temperatures, lapses, terminal states, starts and labels are drawn at random. Both agents
must take the same actions, and must compute the same utilities and action values. The final missing information is
compared with a direct computation from the counts, with formulas that are written independently here.
"""

from __future__ import annotations

import sys
import warnings
from math import comb

import numpy as np

from berlyne import ChineseRestaurant, Dirichlet, InternalModel, OneTwoThree, Strategy, World, explore
from berlyne.agents.make import make_agent, make_open_state_agent
from berlyne.strategies.coordination import Relocating
from berlyne.strategies.registry import get_strategy

MEASURES = ("missing", "l1", "utility", "values", "direct")
"""Largest differences: of missing information and L1 distance along runs, of utilities and action values at their ends,
and of the missing information at the end from the direct computation."""


def random_theta(rng, n_actions, n_states, mask):
    theta = rng.gamma(rng.choice([0.3, 1.0]), size=(n_actions, n_states, n_states)) * mask + 1e-6 * mask
    return theta / theta.sum(axis=-1, keepdims=True)


def random_mask(rng, n_actions, n_states):
    mask = rng.random((n_actions, n_states, n_states)) < rng.uniform(0.2, 1.0)
    mask[:, np.arange(n_states), (np.arange(n_states) + 1) % n_states] = True
    return mask


def random_targets(rng, n_actions, n_states):
    """A world of 1-2-3: action a leads to a + 1 states alike."""
    theta = np.zeros((n_actions, n_states, n_states))
    for a, s in np.ndindex(n_actions, n_states):
        theta[a, s, rng.choice(n_states, size=a + 1, replace=False)] = 1.0 / (a + 1)
    return theta


def random_prior(rng, n_actions, n_states):
    """A prior, and transition probabilities that it allows."""
    kind = rng.choice(["full", "support", "unequal", "1-2-3", "restaurant"])
    mask = random_mask(rng, n_actions, n_states)
    theta = random_theta(rng, n_actions, n_states, mask)
    alpha = float(10.0 ** rng.uniform(-3, 1.5))
    if kind == "full":
        return Dirichlet(alpha, n_states=n_states, n_actions=n_actions), theta
    if kind == "support":
        return Dirichlet(alpha, mask | (rng.random(mask.shape) < 0.3)), theta
    if kind == "unequal":
        support = mask | (rng.random(mask.shape) < rng.choice([0.3, 1.0]))
        return Dirichlet(10.0 ** rng.uniform(-3, 1.5, size=mask.shape), support), theta
    if kind == "restaurant":
        c = "ml" if rng.random() < 0.3 else alpha
        return ChineseRestaurant(c, float(rng.choice([0.0, 0.2, 0.9]))), theta
    prior = OneTwoThree(n_states, n_actions, float(rng.uniform(0.05, 0.95)))
    return prior, random_targets(rng, n_actions, n_states)


def random_strategy(rng, grows):
    """Any strategy that kernels know with the prior."""
    utility = str(rng.choice(["PIG", "PEIG", "PMC", "PLC", "parameter_gain"]))
    chance = {"temperature": float(rng.choice([0.0, 0.01, 0.3])), "lapse": float(rng.choice([0.0, 0.2]))}
    if utility == "PEIG" and rng.random() < 0.5:
        chance["untried"] = float(rng.uniform(0.0, 1.0))
    method = str(rng.choice(["greedy", "VI", "Q", "CB", "LTA", "Random", "anywhere"] + ["VI+"] * (not grows)))
    if method == "Random":
        return get_strategy("Random")
    if method in ("CB", "LTA"):
        chance.pop("untried", None)
        return get_strategy(method, **chance)
    if method == "anywhere":
        return Strategy("anywhere", Relocating(), utility, **chance)
    own = {
        "VI": {"steps_back": int(rng.integers(7)), "gamma": float(rng.choice([1.0, 0.9]))},
        "Q": {"learning_rate": 0.4, "gamma": 0.8, "epsilon": float(rng.choice([0.0, 0.3])), "initial": 0.1},
    }
    return get_strategy(f"{utility}({method})", **own.get(method.rstrip("+"), {}), **chance)


def random_case(seed):
    """A world with a prior, and a strategy."""
    rng = np.random.default_rng([18, seed])
    n_actions, n_states = int(rng.integers(1, 6)), int(rng.integers(6, 9))
    if rng.random() < 0.05:
        n_states = 35  # more than have a slot for each other from the start
    prior, theta = random_prior(rng, n_actions, n_states)
    labels = {}
    if rng.random() < 0.5:
        labels = {"states": [("s", i) for i in range(n_states)], "actions": [f"a{i}" for i in range(n_actions)]}
    states = labels.get("states", range(n_states))
    terminal = [states[i] for i in rng.choice(n_states - 1, size=int(rng.integers(3)), replace=False) + 1]
    start = [None, states[0], {states[0]: 1.0}][rng.integers(3)]
    world = World(theta, prior, terminal=terminal, start=start, **labels)
    return world, random_strategy(rng, hasattr(prior, "grows"))


def counted(run):
    """How often each transition was made, [a, s, s_next]."""
    counts = np.zeros((run.world.n_actions, run.world.n_states, run.world.n_states))
    np.add.at(counts, (run.actions, run.states[:-1], run.next_states), 1)
    return counts


def estimate_123(p_escape, k, row):
    """The posterior mean of a row with k targets, from how many target sets contain what was seen (Eq. 9)."""
    n, seen = len(row), row > 0
    q, t = p_escape**k, int(seen.sum())
    if seen[0]:
        unseen, first = (k - t) / (n - t) / k if t < n else 0.0, 1.0 / k
    else:
        with_first = (1.0 - q) / comb(n - 1, k - 1) * (comb(n - 1 - t, k - 1 - t) if t < k else 0)
        without = q / comb(n - 1, k) * comb(n - 1 - t, k - t)
        is_target = with_first / (with_first + without)
        first, unseen = is_target / k, (k - t - is_target) / (n - 1 - t) / k
    theta_hat = np.where(seen, 1.0 / k, unseen)
    theta_hat[0] = first
    return theta_hat


def estimate_growing(run, counts):
    """Return the estimate under unknown states, with elsewhere divided among the undiscovered states."""
    prior, n = run.model.prior, counts.shape[-1]
    discovered = np.zeros(n, dtype=bool)
    discovered[np.concatenate([run.states, run.next_states])] = True
    n_seen, total = (counts > 0).sum(axis=-1, keepdims=True), counts.sum(axis=-1, keepdims=True)
    share = (prior.c + prior.d * n_seen) / (discovered.sum() + 1 - n_seen)
    pseudo = np.where(counts > 0, counts - prior.d, np.where(discovered, share, share / max(1, n - discovered.sum())))
    return pseudo / (prior.c + total)


def direct(run):
    """Missing information at the end of a run, in bits, from its counts alone."""
    world, prior, counts = run.world, run.world.prior, counted(run)
    if isinstance(prior, Dirichlet):
        c = counts.copy()
        begin, rows = 0, [(a, s) for s in range(counts.shape[1]) for a in range(counts.shape[0])]
        for a, s in rows:  # in the order of the support
            reach = prior.support.row(a, s)
            c[a, s, reach] += prior.alpha if np.ndim(prior.alpha) == 0 else prior.alpha[begin : begin + len(reach)]
            begin += len(reach)
        theta_hat = c / c.sum(axis=-1, keepdims=True)
    elif isinstance(prior, OneTwoThree):
        rows = [[estimate_123(prior.p_escape, a + 1, row) for row in counts[a]] for a in range(len(counts))]
        theta_hat = np.array(rows)
    else:
        theta_hat = estimate_growing(run, counts)
    theta, going_on = world.theta, np.setdiff1d(np.arange(world.n_states), world.terminal)
    positive = theta > 0
    missing = np.zeros(theta.shape)
    missing[positive] = theta[positive] * np.log2(theta[positive] / theta_hat[positive])
    return float(missing[:, going_on].sum())


def agents(run):
    """A compiled and a plain mind that have seen what a run saw."""
    world, strategy = run.world, run.strategy
    steps = list(zip(run.states.tolist(), run.actions.tolist(), run.next_states.tolist(), strict=False))
    for engine in ("compiled", "numpy"):
        if hasattr(world.prior, "grows"):
            agent = make_open_state_agent(world.prior, world.n_actions, strategy, engine)
            agent.discover(int(run.states[0]))
            agent.mark_terminal(world.terminal)
        else:
            agent = make_agent(InternalModel(world.prior), strategy, world, engine)
        for s, a, s_next in steps:
            agent.observe(s, a, s_next)
        yield agent


def differences(seed, n_steps=60):
    """The largest differences in one random world, by what they are of."""
    world, strategy = random_case(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # states out of reach are as good as any
        fast, plain = (explore(world, strategy, n_steps, seed, engine=engine) for engine in ("compiled", "numpy"))
    for name in ("states", "actions", "next_states"):
        assert np.array_equal(getattr(fast, name), getattr(plain, name)), (seed, strategy, world, name)
    one, other = agents(fast)
    going_on = np.setdiff1d(np.unique(fast.states), world.terminal).tolist()
    if strategy.relocates:
        values = [np.where(np.isfinite(agent.pair_values()), agent.pair_values(), 0.0) for agent in (one, other)]
    else:
        values = [np.array([agent.action_values(s) for s in going_on]) for agent in (one, other)]
    utility = [np.where(np.isfinite(agent.utility()), agent.utility(), 0.0) for agent in (one, other)]
    expected = direct(fast)
    largest_differences = (
        np.abs(fast.missing_information - plain.missing_information).max(),
        np.abs(fast.l1_distance - plain.l1_distance).max(),
        np.abs(utility[0] - utility[1]).max(),
        np.abs(values[0] - values[1]).max(),
        max(abs(run.missing_information[-1] - expected) for run in (fast, plain)),
    )
    return dict(zip(MEASURES, map(float, largest_differences), strict=True))


def largest(seeds):
    """The largest differences over several worlds."""
    all_differences = [differences(seed) for seed in seeds]
    return {name: max(one[name] for one in all_differences) for name in MEASURES}


if __name__ == "__main__":
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    print(f"{n} worlds:", {name: f"{value:.2g}" for name, value in largest(range(n)).items()})
