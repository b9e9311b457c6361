import numpy as np
import pytest

from berlyne import (
    ChineseRestaurant,
    Dirichlet,
    Explorer,
    InternalModel,
    OneTwoThree,
    World,
    dense_world,
    entropy,
    l1_distance,
    maze,
    missing_information,
    one_two_three_world,
)
from berlyne.sparse import Counts
from messages import raises

PRIORS = {
    "everything": Dirichlet(1.0, n_states=4, n_actions=3),
    "support": Dirichlet(0.25, np.array([np.tri(4, k=2)] * 3) > 0),
    "1-2-3": OneTwoThree(4),
}
WORLDS = {"dense": dense_world(1), "maze": maze(2), "1-2-3": one_two_three_world(3)}


class Plain:
    """A prior that offers nothing but estimates."""

    def __init__(self, prior):
        self._prior = prior

    def estimate(self, counts):
        return self._prior.estimate(counts)


def walk(world, n_steps, seed):
    rng = np.random.default_rng(seed)
    s, steps = int(rng.integers(world.n_states)), []
    for _ in range(n_steps):
        a = int(rng.integers(world.n_actions))
        s_next = world.sample(a, s, rng.random())
        steps.append((s, a, s_next))
        s = s_next
    return steps


def test_a_worked_example():
    model = InternalModel(Dirichlet(1.0, n_states=3, n_actions=2))
    model.observe_many([(0, 1, 2), (0, 1, 2), (1, 0, 0)])
    assert model.counts[1, 0].tolist() == [0, 0, 2] and model.counts[0, 1].tolist() == [1, 0, 0]
    assert model.theta_hat[1, 0] == pytest.approx([1 / 5, 1 / 5, 3 / 5])
    assert model.theta_hat[0, 1] == pytest.approx([1 / 2, 1 / 4, 1 / 4])
    assert model.theta_hat[0, 0] == pytest.approx([1 / 3] * 3)
    assert model.theta_hat_after(0, 1)[2] == pytest.approx([2 / 5, 1 / 5, 2 / 5])
    assert model.n_obs == 3 and repr(model).endswith("3 observations)")
    assert model.last_outcomes.tolist() == [-1, 2, 0, -1, -1, -1]


@pytest.mark.parametrize("name", WORLDS)
def test_observing_one_by_one_or_all_at_once_is_the_same(name):
    world = WORLDS[name]
    steps = walk(world, 60, seed=4)
    one_by_one, at_once, as_array = (InternalModel(world.prior) for _ in range(3))
    for s, a, s_next in steps:
        one_by_one.observe(s, a, s_next)
    at_once.observe_many(steps)
    as_array.observe_many(np.array(steps, dtype=np.int32))
    for model in (at_once, as_array):
        assert np.array_equal(model.counts, one_by_one.counts)
        assert np.array_equal(model.theta_hat, one_by_one.theta_hat)
        assert np.array_equal(model.last_outcomes, one_by_one.last_outcomes)
    assert one_by_one.n_obs == 60


@pytest.mark.parametrize("name", WORLDS)
def test_the_order_of_observations_does_not_matter_to_the_estimate(name):
    world = WORLDS[name]
    steps = walk(world, 60, seed=5)
    forth, back = InternalModel(world.prior), InternalModel(world.prior)
    forth.observe_many(steps)
    back.observe_many(reversed(steps))
    assert np.array_equal(forth.counts, back.counts)
    assert np.array_equal(forth.theta_hat, back.theta_hat)


@pytest.mark.parametrize("wrap", [lambda prior: prior, Plain])
@pytest.mark.parametrize(
    ("prior", "good", "bad", "message"),
    [
        (
            "support",
            (0, 1, 2),
            (0, 1, 3),
            ("action 1", "state 0", "state 3", "2", "docs/how-to/own-prior.md"),
        ),
        (
            "1-2-3",
            (2, 0, 1),
            (2, 0, 3),
            ("action 0", "state 2", "state 3", "1", "docs/how-to/own-prior.md"),
        ),
        (
            "1-2-3",
            (2, 0, 1),
            (2, 0, 0),
            ("action 0", "state 2", "state 0", "1", "docs/how-to/own-prior.md"),
        ),
    ],
)
def test_an_impossible_observation_is_refused_and_nothing_of_its_history_is_learned(wrap, prior, good, bad, message):
    model = InternalModel(wrap(PRIORS[prior]), n_states=4, n_actions=3)
    model.observe(*good)
    before = model.counts, model.theta_hat, model.last_outcomes
    with raises(ValueError, "line 2", *message):
        model.observe_many([(1, 2, 1), good, bad, good])
    with raises(ValueError, *message):
        model.observe(*bad)
    assert model.n_obs == 1
    for now, then in zip((model.counts, model.theta_hat, model.last_outcomes), before, strict=True):
        assert np.array_equal(now, then)


def test_targets_that_contradict_each_other_within_one_history_are_refused():
    model = InternalModel(OneTwoThree(6))
    with raises(ValueError, "line 3", "action 1", "state 0", "state 5", "2", "4", "own-prior.md"):
        model.observe_many([(0, 1, 4), (0, 1, 2), (0, 1, 4), (0, 1, 5)])
    assert model.n_obs == 0


@pytest.mark.parametrize("p_escape", [0.0, 1.0])
def test_certain_knowledge_of_the_absorbing_state_limits_what_is_possible(p_escape):
    model = InternalModel(OneTwoThree(5, p_escape=p_escape))
    impossible = 0 if p_escape == 1.0 else 3  # never state 0, or only state 0
    with raises(ValueError, "action 0", "state 0", f"state {impossible}"):
        model.observe(0, 0, impossible)
    model.observe(0, 0, 3 - impossible)


@pytest.mark.parametrize(
    ("history", "message"),
    [
        ([(0, 0, 4)], ("s_next", "4", "line 0", "0", "3")),
        (
            [(0, 0, 1), (0, 3, 1)],
            ("a", "3", "line 1", "0", "2"),
        ),
        ([(-1, 0, 1)], ("s", "-1", "line 0")),
        ([(0, 0)], ("line 0", "(0, 0)")),
        ([(0, 0, 1.5)], ("s_next", "1.5", "line 0")),
        (np.array([0, 0, 1]), ("history", "(3,)", "(T, 3)")),
    ],
)
def test_malformed_histories_are_refused(history, message):
    model = InternalModel(PRIORS["everything"])
    with raises(ValueError, *message):
        model.observe_many(history)
    assert model.n_obs == 0


def test_an_empty_history_teaches_nothing():
    model = InternalModel(PRIORS["everything"])
    model.observe_many([])
    model.observe_many(iter(()))
    model.observe_many(np.zeros((0, 3), dtype=int))
    assert model.n_obs == 0


@pytest.mark.parametrize("wrap", [lambda prior: prior, Plain])
@pytest.mark.parametrize("name", WORLDS)
def test_sparse_yardsticks_equal_the_dense_ones(name, wrap):
    world = WORLDS[name]
    model = InternalModel(wrap(world.prior), n_states=world.n_states, n_actions=world.n_actions)
    for steps in ([], walk(world, 200, seed=6)):
        model.observe_many(steps)
        expected = missing_information(world.theta, model.theta_hat)
        assert model.missing_information(world) == pytest.approx(expected, rel=1e-11)
        assert model.l1_distance(world) == pytest.approx(l1_distance(world.theta, model.theta_hat), rel=1e-11)
    assert model.entropy() == pytest.approx(entropy(model.theta_hat))


def test_missing_information_is_infinite_about_a_world_that_the_prior_excludes():
    model = InternalModel(Dirichlet(1.0, np.eye(2)[None]))
    assert model.missing_information(World(np.array([[[1.0, 0.0], [0.5, 0.5]]]))) == np.inf


def test_a_world_of_another_size_is_refused():
    model = InternalModel(PRIORS["everything"])
    with raises(ValueError, "world", "10 states", "model", "4"):
        model.missing_information(WORLDS["dense"])


@pytest.mark.parametrize("wrap", [lambda prior: prior, Plain])
@pytest.mark.parametrize("name", PRIORS)
def test_single_rows_equal_those_of_the_whole_estimate(name, wrap):
    model = InternalModel(wrap(PRIORS[name]), n_states=4, n_actions=3)
    model.observe_many([(0, 2, 1), (0, 2, 2), (3, 1, 3)])
    for a, s in np.ndindex(3, 4):
        assert model.theta_hat_row(a, s) == pytest.approx(model.theta_hat[a, s], abs=1e-15)
        after = model.theta_hat_after(a, s)
        for s_star, p in enumerate(model.theta_hat[a, s]):
            imagined = InternalModel(PRIORS[name])
            imagined.observe_many([(0, 2, 1), (0, 2, 2), (3, 1, 3)] + [(s, a, s_star)] * int(p > 0))
            assert after[s_star] == pytest.approx(imagined.theta_hat[a, s], abs=1e-15)


@pytest.mark.parametrize(("a", "s"), [(3, 0), (-1, 0), (0, 4), (0, -1)])
def test_rows_that_do_not_exist_are_refused(a, s):
    model = InternalModel(PRIORS["everything"])
    name, value, last = ("s", s, 3) if s not in range(4) else ("a", a, 2)
    for row in (model.theta_hat_row, model.theta_hat_after):
        with raises(ValueError, name, value, "0", last):
            row(a, s)


def test_a_model_from_counts_equals_the_one_that_observed_them():
    world = WORLDS["maze"]
    model = InternalModel(world.prior)
    model.observe_many(walk(world, 100, seed=7))
    last = {r: int(s_next) for r, s_next in enumerate(model.last_outcomes) if s_next >= 0}
    copy = InternalModel.from_counts(world.prior, model.sparse_counts, last)
    assert np.array_equal(copy.theta_hat, model.theta_hat) and copy.n_obs == 100
    assert np.array_equal(copy.last_outcomes, model.last_outcomes)
    copy.observe(*walk(world, 1, seed=8)[0])
    assert copy.n_obs == 101 and model.n_obs == 100


def test_sizes_come_from_the_prior_or_must_be_given():
    plain = Plain(PRIORS["everything"])
    with raises(ValueError, "states", "n_states="):
        InternalModel(plain)
    with raises(ValueError, "number of actions"):
        InternalModel(plain, n_states=4)
    with raises(ValueError, "n_states", "5", "n_states=4"):
        InternalModel(PRIORS["everything"], n_states=5)
    model = InternalModel(plain, n_states=4, n_actions=3)
    assert (model.n_states, model.n_actions) == (4, 3)


def test_invalid_priors_are_refused():
    with raises(ValueError, "prior", "0.5", "estimate(counts)"):
        InternalModel(0.5)


def test_an_estimate_of_the_wrong_shape_is_refused():
    class Wrong:
        def estimate(self, counts):
            return np.ones(3)

    with raises(ValueError, "estimate", "(3,)", "(1, 2, 2)"):
        _ = InternalModel(Wrong(), n_states=2, n_actions=1).theta_hat


def test_a_large_model_answers_by_row_and_refuses_to_be_dense():
    world = maze(0, side=120, n_transporters=1000)
    model = InternalModel(world.prior)
    before = model.missing_information(world)
    model.observe_many(walk(world, 50, seed=9))
    assert model.missing_information(world) != before
    assert model.theta_hat_row(0, 7).sum() == pytest.approx(1.0)
    for attribute in ("theta_hat", "counts"):
        with raises(ValueError, attribute, "4 x 14400 x 14400"):
            getattr(model, attribute)


def test_sparse_counts_are_sorted_and_complete():
    model = InternalModel(PRIORS["everything"])
    model.observe_many([(3, 2, 1), (0, 0, 3), (0, 0, 1), (3, 2, 1)])
    counts = model.sparse_counts
    assert isinstance(counts, Counts)
    assert counts.row.tolist() == [0, 0, 11] and counts.s_next.tolist() == [1, 3, 1] and counts.n.tolist() == [1, 1, 2]


def test_a_sample_is_a_world_with_the_labels_and_the_prior_of_the_model():
    possible = np.array([[[1, 1, 0], [0, 1, 0], [1, 1, 1]], [[0, 0, 1], [1, 1, 1], [1, 0, 1]]]) > 0
    prior = Dirichlet(0.5, possible)
    model = InternalModel(prior, states=["x", "y", "z"], actions=["go", "stop"])
    model.observe("x", "go", "y")
    world = model.sample(3)
    assert isinstance(world, World) and world.prior is prior
    assert world.states == ("x", "y", "z") and world.actions == ("go", "stop")
    assert np.array_equal(world.theta > 0, possible)
    assert np.array_equal(world.theta, model.sample(3).theta)
    assert np.array_equal(world.theta, prior.sample(3, model.counts).dense())
    rng = np.random.default_rng(3)
    assert np.array_equal(world.theta, model.sample(rng).theta)
    assert not np.array_equal(world.theta, model.sample(rng).theta)
    assert model.n_obs == 1


def test_your_own_prior_may_draw_worlds():
    class Mine:
        def estimate(self, counts):
            c = counts + 1.0
            return c / c.sum(axis=-1, keepdims=True)

    class MineWithDraws(Mine):
        def sample(self, seed, counts):
            rng = np.random.default_rng(seed)
            return np.array([[rng.dirichlet(row + 1.0) for row in of_action] for of_action in counts])

    model = InternalModel(MineWithDraws(), n_states=3, n_actions=2)
    model.observe_many([(0, 1, 2)] * 1000)
    world = model.sample(0)
    assert world.theta.shape == (2, 3, 3) and world.theta[1, 0, 2] > 0.95
    with raises(ValueError, "Mine", "sample(seed, counts)"):
        InternalModel(Mine(), n_states=3, n_actions=2).sample(0)


def test_a_sample_of_discovered_states_has_a_state_for_all_others():
    explorer = Explorer(ChineseRestaurant(1.0), n_actions=2, states=["A", "B"])
    explorer.observe("A", 0, "B")
    world = explorer.model.sample(0)
    assert world.states == ("A", "B", "elsewhere") and np.all(world.theta > 0)
    with raises(ValueError, "number of cells", "draw worlds"):
        explorer.prior.sample(0)
