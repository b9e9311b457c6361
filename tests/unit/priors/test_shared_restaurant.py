"""The prior of unknown states that shares between rows: pseudo-counts, what explorers learn, and what it refuses."""

from __future__ import annotations

import copy
import itertools
import pickle

import numpy as np
import pytest

import berlyne
from berlyne import Explorer, Refit, SharedDirichlet, SharedRestaurant
from berlyne.agents.open_state_agent import OpenStateAgent
from berlyne.experiments.worlds import fingerprint
from berlyne.sparse import Counts
from messages import raises


def shift(s, a, s_next):
    """The change of position, if it is at most one."""
    return (a, s_next - s) if abs(s_next - s) <= 1 else None


def side(s, a, s_next):
    return s_next > s


def discovered(prior, *origins):
    """Return the prior after the discovery of states 0, 1, 7, ..."""
    for state, origin in zip((0, 1, 7), origins, strict=True):
        prior = prior.with_state(state, ["go"], origin)
    return prior


def alphas(prior, n_actions=1):
    """Pseudo-counts `[a, s, s_next]` of the cells, without observations."""
    cells = prior.sized(len(prior.states) + 1, n_actions)
    return cells.alpha.reshape(cells.n_states, n_actions, cells.n_states).transpose(1, 0, 2)


def test_pseudo_counts_before_the_first_refit():
    prior = discovered(SharedRestaurant(shift, 0.5, n_actions=1), None, (0, 0), (1, 0))
    assert prior.states == (0, 1, 7)
    assert list(prior.weights) == ["elsewhere", ("go", 0), ("go", 1), ("go", -1)]
    assert set(prior.weights.values()) == {0.5}
    expected = [
        [0.5, 1.0, 0.5, 0.5],  # 1 is one to the right, and was discovered from 0, so elsewhere is a label, too
        [0.5, 0.5, 0.5, 0.5],  # 7 was discovered from 1; elsewhere is its only label
        [0.5, 0.5, 0.5, 0.5],
        [6.5 / 3 / 4] * 4,  # elsewhere: the mean total of the others, divided evenly
    ]
    assert alphas(prior)[0] == pytest.approx(np.array(expected))


def test_a_list_of_functions_adds_the_weights_of_all_labels():
    prior = discovered(SharedRestaurant([shift, side], 0.5), None, None, None)
    assert alphas(prior)[0][:3] == pytest.approx(np.array([[1, 1, 0.5, 0.5], [1, 1, 0.5, 0.5], [0.5, 0.5, 1, 0.5]]))
    assert list(prior.weights) == ["elsewhere", ("go", 0), False, ("go", 1), ("go", -1), True]


def test_imagined_states_have_no_labels_and_rows_like_elsewhere():
    counts = np.zeros((1, 4, 4), dtype=np.int64)
    counts[0, 0, 1], counts[0, 1, 1] = 9, 7
    prior = discovered(SharedRestaurant(shift, 0.25), None, None, None).refit(Counts.from_dense(counts))
    prior = prior.with_unknown_state(1)
    table, elsewhere = alphas(prior)[0], prior.weights["elsewhere"]
    assert table[:3, 3] == pytest.approx(np.full(3, elsewhere)) and elsewhere < 0.2
    assert table[3:] == pytest.approx(np.full((2, 5), table[:3].sum(axis=1).mean() / 5))
    assert table[3, 0] != pytest.approx(0.25, abs=0.05)


def lines_and_labels(seed, n_states=7, n_actions=2, n_lines=120):
    """Return a walk on a line whose states are discovered, the states in this order, and the table of labels.

    Built with loops, and apart from the prior: `table[f, a, s, s_next]`, where elsewhere is the last cell and class 0.
    """
    rng, s, lines = np.random.default_rng(seed), 3, []
    for _ in range(n_lines):
        a = int(rng.integers(n_actions))
        s_next = int(np.clip(s + (1 if a else -1) * (rng.random() < 0.8), 0, n_states - 1))
        lines.append((s, a, s_next))
        s = s_next
    order, origin = [], {}
    for s, a, s_next in lines:
        for state, source in ((s, None), (s_next, (s, a))):
            if state not in order:
                order.append(state)
                origin[state] = source
    n, number = len(order), {"elsewhere": 0}
    for k, state in enumerate(order):  # classes are numbered when they are first met
        pairs = [(s, state) for s in order[: k + 1]] + [(state, z) for z in order[:k]]
        for (s, z), a in itertools.product(pairs, range(n_actions)):
            if shift(s, a, z) is not None:
                number.setdefault(shift(s, a, z), len(number))
    table = np.full((2, n_actions, n + 1, n + 1), -1)
    for (i, s), (j, z), a in itertools.product(enumerate(order), enumerate(order), range(n_actions)):
        table[0, a, i, j] = -1 if shift(s, a, z) is None else number[shift(s, a, z)]
        table[1, a, i, j] = 0 if origin[z] == (s, a) else -1
    table[1, :, :n, n] = 0
    return lines, order, number, table


@pytest.mark.parametrize("seed", range(3))
def test_explorers_learn_the_weights_that_sweeps_over_the_discovered_cells_give(seed):
    lines, order, number, table = lines_and_labels(seed)
    explorer = Explorer(SharedRestaurant(shift, 0.3, shape=2.0, strength=0.7), n_actions=2)
    explorer.observe_many(lines)
    prior = explorer._agent.prior
    assert list(explorer.states) == order == list(prior.states) and list(prior.weights) == list(number)
    n = len(order)
    counts = np.zeros((2, n + 1, n + 1), dtype=np.int64)
    for s, a, z in lines:
        counts[a, order.index(s), order.index(z)] += 1
    support = np.ones_like(counts, dtype=bool)
    over_cells = SharedDirichlet(table, 0.3, 2.0, 0.7, support=support)
    fitted = over_cells.fit(counts)
    for _ in range(2000):  # a refit ends when weights change by less than 0.1 %, so go on to the fixed point
        prior = prior.refit(Counts.from_dense(counts))
    assert list(prior.weights.values()) == pytest.approx(fitted.weights, rel=1e-3)
    assert alphas(prior, 2)[:, :n] == pytest.approx(
        fitted.alphas.reshape(n + 1, 2, n + 1).transpose(1, 0, 2)[:, :n], rel=1e-3
    )


@pytest.mark.parametrize("schedule", [Refit(10, 0.1), Refit(0, 1.0), Refit(3, 0.1, 0.2)])
def test_explorers_refit_when_a_state_is_discovered_and_when_the_schedule_says_so(schedule):
    lines, order, _, _ = lines_and_labels(seed=3)
    first = prior = SharedRestaurant(shift, 0.3, schedule=schedule)
    counts, n_refits, n_uses, refitted_at = np.zeros((2, 9, 9), dtype=np.int64), 0, 0, 0
    explorer = Explorer(first, n_actions=2)
    for n_obs, (s, a, z) in enumerate(lines, 1):
        n_known = len(prior.states)
        for state in (s, z):
            if state not in prior.states:
                origin = (prior.states.index(s), a) if state == z and z != s else None
                prior = prior.with_state(state, range(2), origin)
        counts[a, order.index(s), order.index(z)] += 1
        if len(prior.states) > n_known or n_obs >= schedule.next_refit(refitted_at):
            n, refitted_at = len(prior.states) + 1, n_obs
            fitted, n_refits = prior.refit(Counts.from_dense(counts[:, :n, :n])), n_refits + 1
            changes = [abs(fitted.weights[name] / weight - 1.0) for name, weight in prior.weights.items()]
            if n_obs <= schedule.always or max(changes) > schedule.tolerance:
                prior, n_uses = fitted, n_uses + 1
        explorer.observe(s, a, z)
        assert explorer.model.prior.weights == pytest.approx(prior.weights, rel=1e-12)
    assert n_refits > 8 and (n_uses < n_refits) == (schedule.tolerance > 0) and explorer.prior is first


def test_shape_and_strength_are_those_of_all_weights():
    for shape in (1.0, 5.0):
        explorer = Explorer(SharedRestaurant(shift, 0.3, shape=shape, strength=1e6), n_actions=2)
        explorer.observe_many(lines_and_labels(0)[0][:30])
        assert explorer._agent.prior._shared.weight_shape == pytest.approx(shape, rel=1e-3)


def test_a_new_class_is_expected_to_have_the_mean_weight_that_was_learned():
    explorer = Explorer(SharedRestaurant(lambda s, a, s_next: s_next - s, 0.3, shape=2.0), n_actions=1)
    explorer.observe_many([(0, 0, 0), (0, 0, 1), (1, 0, 1), (1, 0, 0), (0, 0, 2)] * 5)
    explorer.discover([50])
    prior = explorer._agent.prior
    assert abs(prior._shared.mean_weight / 0.3 - 1.0) > 0.05 and abs(prior._shared.weight_shape / 2.0 - 1.0) > 0.05
    assert prior.weights[50] == pytest.approx(prior._shared.mean_weight)
    assert prior._shared.belief_before_refit.shape[-1] == pytest.approx(prior._shared.weight_shape)


def test_what_it_learns_in_some_states_it_expects_in_others():
    explorer = Explorer(SharedRestaurant(shift, 0.1), n_actions=2)
    explorer.observe_many([(s, 1, s + 1) for s in range(12)])
    explorer.discover([40, 41])
    row = dict(zip(explorer.model.states, explorer.model.theta_hat_row(1, 40), strict=True))
    assert row[41] > 0.5 > row["elsewhere"] > row[0]
    alone = Explorer(berlyne.ChineseRestaurant(1.0), n_actions=2)
    alone.observe_many(explorer.history)
    alone.discover([40, 41])
    assert alone.model.theta_hat_row(1, 40)[-2] == pytest.approx(1 / 16)


def test_elsewhere_gains_weight_by_discoveries_and_loses_it_without():
    discovers = Explorer(SharedRestaurant(shift, 0.2), n_actions=1)
    discovers.observe_many([(s, 0, 10 * s) for s in range(1, 30)])
    stays = Explorer(SharedRestaurant(shift, 0.2), n_actions=1)
    stays.observe_many([(0, 0, 0)] * 100)
    assert discovers.model.prior.weights["elsewhere"] > 0.25
    assert stays.model.prior.weights["elsewhere"] < 0.05


def test_labels_of_a_world_serve_for_those_of_its_states_that_are_met():
    world = berlyne.grid_world(5)
    labels = berlyne.labels_of(world, ["moves", "targets"], support="all")
    explorer = Explorer(SharedRestaurant(labels, 0.1), actions=world.actions)
    with raises(ValueError, "actions", list(world.actions), list("abcd"), "same actions"):
        Explorer(SharedRestaurant(labels, 0.1), actions=list("abcd")).discover([world.states[0]])
    explorer.observe(world.states[3], world.actions[0], world.states[3])
    with pytest.warns(UserWarning, match="do not contain the state 'x'"):
        explorer.observe(world.states[3], world.actions[1], "x")
    assert explorer.model.prior.weights.keys() == {
        "elsewhere",
        *((a, "stay") for a in world.actions),
        *((a, world.states[3]) for a in world.actions),
    }


def test_copies_and_pickles_are_equal_and_independent():
    explorer = Explorer(SharedRestaurant(berlyne.labels_of(berlyne.maze(1), "moves", support="all"), 0.1))
    explorer.observe_many([(0, 0, 1), (1, 2, 1), (1, 3, 7)])
    prior = explorer._agent.prior
    for clone in (copy.deepcopy(prior), pickle.loads(pickle.dumps(prior))):
        assert clone.weights == prior.weights
        assert np.array_equal(alphas(clone, 4), alphas(prior, 4))
    assert prior.with_state(9, range(4)).states == (0, 1, 7, 9) and prior.states == (0, 1, 7)


def test_labels_of_some_transitions_are_kept_in_files(tmp_path):
    explorer = Explorer(SharedRestaurant(berlyne.labels_of(berlyne.maze(1), "moves"), 0.1))
    explorer.observe_many([(0, 0, 1), (1, 1, 0), (0, 2, 6)])
    explorer.save(tmp_path / "e.npz")
    loaded = Explorer.load(tmp_path / "e.npz")
    for one in (explorer, loaded):
        one.observe_many([(6, 1, 7), (7, 3, 8)])
    assert loaded.model.prior.weights == explorer.model.prior.weights
    assert np.array_equal(loaded.model.theta_hat, explorer.model.theta_hat)


def test_labels_that_only_have_equal_texts_stay_apart_in_files(tmp_path):
    class Name:
        def __repr__(self):
            return "N"

    names = [Name(), Name(), frozenset([1]), (1, 2)]
    labels = berlyne.labels_of(berlyne.maze(1), lambda s, a, z: names[a], support="all")
    explorer = Explorer(SharedRestaurant(labels, 0.1))
    explorer.observe_many([(0, 0, 1), (1, 1, 0), (0, 2, 6)])
    explorer.save(tmp_path / "e.npz")
    loaded = Explorer.load(tmp_path / "e.npz")
    assert np.array_equal(loaded.utility(), explorer.utility())
    assert list(loaded.model.prior.weights.values()) == list(explorer.model.prior.weights.values())


def test_functions_of_one_name_are_told_apart_in_stores():
    world, labels = berlyne.maze(1), berlyne.labels_of(berlyne.maze(1), "moves", support="all")
    priors = [SharedRestaurant(lambda s, a, z: z - s, 0.1), SharedRestaurant(lambda s, a, z: (a, z - s), 0.1)]
    priors += [SharedRestaurant(labels, 0.1), SharedRestaurant(labels, 0.2)]
    assert len({fingerprint(world.with_prior(prior)) for prior in priors}) == 4
    assert fingerprint(world.with_prior(priors[0])) == fingerprint(
        world.with_prior(SharedRestaurant(lambda s, a, z: z - s, 0.1))
    )


@pytest.mark.parametrize("labels", [3, [], "moves", {shift, side}, [shift, 1], lambda s: 0, [side, lambda: 0]])
def test_invalid_labels_are_refused(labels):
    with raises(ValueError, "labels", "function", "berlyne.labels_of"):
        SharedRestaurant(labels, 0.1)


def test_other_invalid_arguments_are_refused():
    with raises(ValueError, "alpha", 0):
        SharedRestaurant(shift, 0)
    with raises(ValueError, "schedule", 3, "Refit"):
        SharedRestaurant(shift, 0.1, schedule=3)
    with raises(ValueError, "schedule", 3, "Refit"):
        berlyne.Dirichlet("ml", n_states=2, n_actions=1, schedule=3)
    with raises(ValueError, "'elsewhere'", "use another"):
        SharedRestaurant(berlyne.labels_of(berlyne.maze(1), lambda s, a, z: "elsewhere"), 0.1)
    with raises(ValueError, "n_actions", 3, 4):
        SharedRestaurant(berlyne.labels_of(berlyne.maze(1)), 0.1, n_actions=3)
    with raises(ValueError, "n_states", 3):
        Explorer(SharedRestaurant(shift, 0.1), n_states=3, n_actions=1)
    with raises(ValueError, "discovers its states"):
        berlyne.InternalModel(SharedRestaurant(shift, 0.1), n_states=3, n_actions=1).theta_hat  # noqa: B018
    with raises(ValueError, "fixed number of cells"):
        Explorer(discovered(SharedRestaurant(shift, 0.1), None, None, None).sized(4, 1))


@pytest.mark.parametrize(
    ("labels", "named"),
    [
        (lambda s, a, s_next: [s], "hashable"),
        (lambda s, a, s_next: float("nan"), "itself"),
        (lambda s, a, s_next: (a, (1, float("nan"))), "itself"),
        (lambda s, a, s_next: next(iter(())), "StopIteration, for"),
        (lambda s, a, s_next: s - s_next, "TypeError"),
        (lambda s, a, s_next: "elsewhere", "'elsewhere'"),
        (lambda s, a, s_next: "there" if (s, s_next) != ("a", "b") else {}, "hashable"),  # fails at the second state
    ],
)
def test_a_label_function_that_fails_costs_nothing(labels, named):
    explorer = Explorer(SharedRestaurant(labels, 0.1), n_actions=1)
    with raises(ValueError, named):
        explorer.observe("a", 0, "b")
    assert explorer.n_obs == 0 and list(explorer.states) == [
        explorer.state_labels[s] for s in explorer._agent.discovered
    ]
    with raises(ValueError, named):
        explorer.discover(["a", "b"])
    assert list(explorer.states) == [explorer.state_labels[s] for s in explorer._agent.discovered]


def everything(explorer):
    """All that a user can see of an explorer."""
    labels = list(explorer.states), list(explorer.model.states)
    drawn = explorer._rng.bit_generator.state
    return *labels, explorer.history, explorer.n_obs, explorer.utility().tolist(), explorer.here, drawn


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_an_exception_in_a_label_function_leaves_the_explorer_as_it_was(error):
    fails = []

    def label(s, a, s_next):
        if s_next in fails:
            raise error("not now")
        return a, s_next - s

    lines = [(0, 0, 1), (1, 0, 2), (2, 0, 0), (0, 0, 3)]
    explorer, undisturbed = (Explorer(SharedRestaurant(label, 0.1), "PIG(VI)", n_actions=2) for _ in range(2))
    for one in (explorer, undisturbed):
        one.observe_many(lines)
        one.ends_in([3])
        one.act(0)
    fails.append(9)
    before = everything(explorer)
    changes = [
        lambda: explorer.observe(7, 0, 9),  # two new states, the second of which fails
        lambda: explorer.observe(3, 0, 9),  # not terminal any more
        lambda: explorer.discover([5, 6, 9]),
        lambda: explorer.observe_many([(0, 1, 4), (4, 1, 9)]),
        lambda: explorer.ends_in([9]),
    ]
    for change in changes:
        with pytest.raises(KeyboardInterrupt if error is KeyboardInterrupt else ValueError):
            change()
        assert everything(explorer) == before
    fails.append(2)
    with pytest.raises(KeyboardInterrupt if error is KeyboardInterrupt else ValueError):
        explorer.undo()
    assert everything(explorer) == before
    fails.clear()
    for one in (explorer, undisturbed):
        one.undo()
        one.observe_many([(0, 0, 9), (9, 1, 2)])
    assert everything(explorer) == everything(undisturbed)
    assert explorer.act(2) == undisturbed.act(2)


@pytest.mark.parametrize("place", ["refit", "rebuild", "with_state"])
def test_an_interrupt_at_an_observation_leaves_the_explorer_as_it_was(place, monkeypatch):
    explorer, undisturbed = (Explorer(SharedRestaurant(shift, 0.1), "PIG(VI)", seed=3, n_actions=2) for _ in range(2))
    for one in (explorer, undisturbed):
        one.observe_many([(0, 0, 1), (1, 0, 2), (2, 0, 0)])
    before = everything(explorer)

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    owner = OpenStateAgent if place == "rebuild" else SharedRestaurant
    with monkeypatch.context() as patch:
        patch.setattr(owner, "_rebuild" if place == "rebuild" else place, interrupt)
        for s_next in (9, 1) if place == "refit" else (9,):
            with pytest.raises(KeyboardInterrupt):
                explorer.observe(1, 1, s_next)
            assert everything(explorer) == before
    for one in (explorer, undisturbed):
        one.observe(1, 1, 9)
    assert everything(explorer) == everything(undisturbed)


def test_what_a_prior_returns_cannot_change_it():
    functions = [shift]
    prior = SharedRestaurant(functions, 0.1)
    functions.append(side)
    cells = discovered(prior, None, None, None).sized(4, 1)
    cells.weights["elsewhere"] = 99.0
    assert cells.weights["elsewhere"] == 0.1 and prior.labels == (shift,)


def test_counts_of_elsewhere_are_refused():
    cells = discovered(SharedRestaurant(shift, 0.1), None, None, None).sized(4, 1)
    counts = np.zeros((1, 4, 4), dtype=int)
    counts[0, 0, 3] = 1
    with raises(ValueError, "last cell", 3):
        cells.estimate(counts)
    counts[0, 0, 3], counts[0, 0, 2] = 0, 1
    assert cells.expected_missing_information(counts)[0, 3] == cells.missing_information_variance(counts)[0, 3] == 0
