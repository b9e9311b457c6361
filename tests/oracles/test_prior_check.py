"""The check of a prior, against a plain loop over the observations, and in worlds that are drawn from the prior."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import gammaln

import berlyne
from amounts import amount
from berlyne import ChineseRestaurant, Dirichlet, Explorer, InternalModel, OneTwoThree
from berlyne.models.prior_check import check_prior
from berlyne.priors.predictive import observations_of, random_order
from berlyne.sparse import Counts

RNG = np.random.default_rng(3)
MASK = RNG.random((2, 5, 5)) < 0.6
MASK[:, :, 2] = True


def z_by_hand(history, predict):
    """z from predictive distributions `predict(earlier outcomes of the row, a, s)`: lists of probabilities by event.

    `predict` returns the probabilities of all events, and the number of the event that an outcome is.
    """
    earlier, difference, variance = {}, 0.0, 0.0
    for s, a, s_next in history:
        outcomes = earlier.setdefault((a, s), [])
        p, event_of = predict(outcomes, a, s)
        logs = [math.log(q) if q > 0 else 0.0 for q in p]
        mean = sum(q * log for q, log in zip(p, logs, strict=True))
        difference += logs[event_of(s_next)] - mean
        variance += sum(q * (log - mean) ** 2 for q, log in zip(p, logs, strict=True))
        outcomes.append(s_next)
    return difference / math.sqrt(variance)


def dirichlet(alpha):
    """Predictions of Dirichlet rows; `alpha[a, s, s_next]` is 0 for impossible outcomes."""

    def predict(outcomes, a, s):
        c = alpha[a, s] + np.bincount(outcomes, minlength=alpha.shape[-1])
        return (c / c.sum()).tolist(), lambda s_next: s_next

    return predict


def restaurant(c, d):
    """Predictions of a restaurant: each table, or a new one."""

    def predict(outcomes, a, s):
        tables = list(dict.fromkeys(outcomes))
        seats = [outcomes.count(table) - d for table in tables] + [c + d * len(tables)]
        share = [seat / (len(outcomes) + c) for seat in seats]
        return share, lambda s_next: tables.index(s_next) if s_next in tables else len(tables)

    return predict


def one_two_three(n_states, n_actions, p_first):
    """Predictions of 1-2-3 rows by enumeration: action a has a + 1 equally likely targets."""
    from itertools import combinations

    def weight(targets):
        return p_first if 0 in targets else 1 - p_first

    def predict(outcomes, a, s):
        total, p = Fraction(0), [Fraction(0)] * n_states
        sets = list(combinations(range(n_states), a + 1))
        with_first = math.comb(n_states - 1, a)
        for targets in sets:
            if set(outcomes) <= set(targets):
                among = with_first if 0 in targets else len(sets) - with_first
                w = Fraction(weight(targets)) / among
                total += w
                for target in targets:
                    p[target] += w / (a + 1)
        return [float(q / total) for q in p], lambda s_next: s_next

    return predict


def draw_history(theta, n_steps, seed):
    rng, n_states, history = np.random.default_rng(seed), theta.shape[-1], []
    for _ in range(n_steps):
        s, a = int(rng.integers(n_states)), int(rng.integers(len(theta)))
        history.append((s, a, int(rng.choice(n_states, p=theta[a, s]))))
    return history


UNEQUAL = np.where(MASK, np.random.default_rng(5).gamma(1.0, 1.0, MASK.shape) + 0.05, 0.0)
CASES = {
    "all states": (Dirichlet(0.3, n_states=5, n_actions=2), np.full((2, 5, 5), 0.3)),
    "support": (Dirichlet(0.7, MASK), 0.7 * MASK),
    "unequal": (Dirichlet(UNEQUAL, MASK), UNEQUAL),
    "learned": (Dirichlet("ml", MASK, start=0.7), 0.7 * MASK),
}


@pytest.mark.parametrize("name", CASES)
def test_z_of_a_dirichlet_prior_is_that_of_a_plain_loop(name):
    prior, alpha = CASES[name]
    theta = prior.sample(1).dense()
    history = draw_history(theta, 150, seed=2)
    explorer = Explorer(prior, "Random", n_states=5, n_actions=2)
    explorer.observe_many(history)
    if name == "learned":
        alpha = explorer.model.prior.alpha * MASK
        assert explorer.model.prior.alpha != 0.7
    assert explorer.check_prior().z == pytest.approx(z_by_hand(history, dirichlet(alpha)), rel=1e-9)


@pytest.mark.parametrize(("c", "d"), [(0.8, 0.0), (2.5, 0.4)])
def test_z_of_a_restaurant_is_that_of_its_tables(c, d):
    history = draw_history(berlyne.maze(2, side=3, n_transporters=2).theta, 200, seed=4)
    explorer = Explorer(ChineseRestaurant(c, d), "Random", n_actions=4)
    explorer.observe_many(history)
    assert explorer.check_prior().z == pytest.approx(z_by_hand(history, restaurant(c, d)), rel=1e-9)
    assert math.isfinite(explorer.model.check_prior().z)


def test_z_of_1_2_3_worlds_is_that_of_enumerated_target_sets():
    world = berlyne.one_two_three_world(3, n_states=6)
    history = draw_history(world.theta, 120, seed=5)
    explorer = Explorer(world.prior, "Random")
    explorer.observe_many(history)
    empty = InternalModel(world.prior).theta_hat  # P(state 0 is a target) = (a + 1) theta_hat[a, s, 0]

    def predict(outcomes, a, s):
        p_first = Fraction((a + 1) * empty[a, s, 0]).limit_denominator(10**6)
        return one_two_three(6, world.n_actions, p_first)(outcomes, a, s)

    assert explorer.check_prior().z == pytest.approx(z_by_hand(history, predict), rel=1e-6)


class Plain:
    """A prior with `estimate` alone: Laplace smoothing."""

    n_states, n_actions = 5, 2

    def estimate(self, counts):
        c = counts + 0.3
        return c / c.sum(axis=-1, keepdims=True)


class Sharing(Plain):
    """All rows share their counts in part."""

    rows_are_independent = False

    def estimate(self, counts):
        c = counts + 0.3 + 0.1 * counts.sum(axis=(0, 1))
        return c / c.sum(axis=-1, keepdims=True)


def test_own_priors_need_estimates_only():
    history = draw_history(CASES["all states"][0].sample(1).dense(), 80, seed=6)
    explorer = Explorer(Plain(), "Random")
    explorer.observe_many(history)
    assert explorer.check_prior().z == pytest.approx(z_by_hand(history, dirichlet(np.full((2, 5, 5), 0.3))), rel=1e-9)
    shared, all_outcomes, sums = [], [], np.zeros(2)
    for s, a, s_next in history:  # one row after another, in the order of the history
        c = 0.3 + np.bincount([z for b, r, z in shared if (b, r) == (s, a)], minlength=5)
        c = c + 0.1 * np.bincount(all_outcomes, minlength=5)
        p = c / c.sum()
        mean = np.sum(p * np.log(p))
        sums += np.log(p[s_next]) - mean, np.sum(p * np.log(p) ** 2) - mean**2
        shared.append((s, a, s_next))
        all_outcomes.append(s_next)
    explorer = Explorer(Sharing(), "Random")
    explorer.observe_many(history)
    assert explorer.check_prior().z == pytest.approx(sums[0] / math.sqrt(sums[1]), rel=1e-9)


def test_the_sum_of_log_scores_is_the_marginal_likelihood_in_any_order():
    counts = Counts.from_dense(np.random.default_rng(0).integers(0, 4, (2, 5, 5)) * MASK)
    for prior in (CASES["support"][0], CASES["unequal"][0]):
        for seed in range(3):
            total = prior.log_scores(random_order(counts, seed)).x.sum()
            assert total == pytest.approx(prior.log_marginal_likelihood(counts), rel=1e-12)


def drawn_z(prior, seed):
    """z in a world that was drawn from the prior: of an explorer that chooses rows by what it observed, and of a model.

    The model knows only counts, of ten observations of each row.
    """
    world = berlyne.World(prior.sample(seed), prior, start=0)
    run = berlyne.explore(world, "PIG(VI)", 200, seed)
    rows = run.states[:-1].astype(np.int64) * world.n_actions + run.actions
    of_explorer = check_prior(run.model, observations_of(rows, run.next_states.astype(np.int64))).z
    counts = np.random.default_rng(seed).multinomial(10, np.nextafter(world.theta, 0.0))
    return of_explorer, InternalModel.from_counts(prior, Counts.from_dense(counts), {}).check_prior().z


DRAWN = {
    "all states": Dirichlet(0.3, n_states=5, n_actions=2),
    "small alpha": Dirichlet(0.05, n_states=20, n_actions=3),
    "large alpha": Dirichlet(5.0, n_states=6, n_actions=2),
    "support": Dirichlet(0.7, MASK),
    "unequal": Dirichlet(UNEQUAL, MASK),
    "1-2-3": OneTwoThree(n_states=8),
}


@pytest.mark.parametrize("name", DRAWN)
def test_z_has_mean_0_and_variance_1_if_the_world_is_drawn_from_the_prior(name):
    """In the order of a history and in a random order; within five standard errors of mean and variance."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # unreachable states
        z = np.array([drawn_z(DRAWN[name], seed) for seed in range(amount(80, 300))])
    for column in z.T:
        assert abs(column.mean()) < 5 / math.sqrt(len(column))
        assert abs(column.var(ddof=1) - 1.0) < 5 * math.sqrt(2 / len(column))


def test_z_of_a_restaurant_has_mean_0_and_variance_1():
    """Rows are drawn from the restaurant, customer by customer."""
    c, d, z = 1.5, 0.3, []
    for seed in range(amount(80, 300)):
        rng, history = np.random.default_rng(seed), []
        for s in range(3):
            outcomes = []
            for _ in range(60):
                share, _ = restaurant(c, d)(outcomes, 0, s)
                tables, event = list(dict.fromkeys(outcomes)), rng.choice(len(share), p=share)
                outcomes.append(tables[event] if event < len(tables) else 100 * s + len(tables))
            history += [(s, 0, outcome) for outcome in outcomes]
        explorer = Explorer(ChineseRestaurant(c, d), "Random", n_actions=1)
        explorer.observe_many(history)
        z.append(explorer.check_prior().z)
    assert abs(np.mean(z)) < 5 / math.sqrt(len(z)) and abs(np.var(z, ddof=1) - 1.0) < 5 * math.sqrt(2 / len(z))


@pytest.mark.parametrize("strategy", ["PIG(VI)", "Random"])
def test_a_concentration_wrong_by_eight_is_detected_in_frozen_lake(strategy):
    def check(alpha):
        return berlyne.explore_env("FrozenLake8x8-v1", strategy, 3000, seed=0, alpha=alpha).explorer.check_prior()

    right = check(1 / 64)
    best = right.best_alpha
    assert right.agrees and abs(check("ml").z) < 4 and abs(check(best).z) < 4
    assert check(8 * best).z > 4 and check(best / 8).z < -4 and check(1.0).z > 4


def log_likelihood(alpha, counts):
    n = counts.shape[-1]
    by_row = gammaln(n * alpha) - gammaln(n * alpha + counts.sum(axis=-1))
    return by_row.sum() + (gammaln(alpha + counts) - gammaln(alpha)).sum()


def test_the_best_concentration_has_the_largest_likelihood():
    history = draw_history(CASES["all states"][0].sample(1).dense(), 300, seed=2)
    counts = np.zeros((2, 5, 5), dtype=int)
    for s, a, s_next in history:
        counts[a, s, s_next] += 1
    grid = np.exp(np.linspace(np.log(0.01), np.log(10.0), 20_001))
    expected = grid[np.argmax([log_likelihood(alpha, counts) for alpha in grid])]
    for prior in (
        Plain(),
        CASES["all states"][0],
        Dirichlet(np.full((2, 5, 5), 2.0) + np.eye(5), n_states=5, n_actions=2),
    ):
        model = InternalModel(prior)
        model.observe_many(history)
        assert model.check_prior().best_alpha == pytest.approx(expected, rel=1e-3)
    explorer = Explorer(ChineseRestaurant(9.0, 0.2), n_actions=2)
    explorer.observe_many(history)
    assert explorer.check_prior().best_alpha == pytest.approx(berlyne.fit_c(counts, 0.2), rel=1e-6)
