"""Histories in every format, several subjects, episodes, custom components, and invalid histories."""

import numpy as np
import pandas as pd
import pytest

import berlyne
from berlyne import Dirichlet, Experiment, Strategy, World, explore, maze, replay
from berlyne.labels import Labels
from berlyne.models.history import read_history
from messages import raises

WORLD = maze(0)
RUN = explore(WORLD, "LTA", n_steps=40, seed=2)
LINES = np.stack([RUN.states[:-1], RUN.actions, RUN.next_states], axis=1)
FRAME = pd.DataFrame(LINES, columns=["s", "a", "s_next"])
PRIOR = Dirichlet(1.0, n_states=3, n_actions=2)


@pytest.mark.parametrize(
    "history",
    [
        RUN,
        LINES,
        LINES.astype(float),
        np.asfortranarray(LINES),
        tuple(LINES.T),
        list(LINES.T),
        LINES.tolist(),
        map(tuple, LINES.tolist()),
        tuple(FRAME[name] for name in ("s", "a", "s_next")),
        FRAME,
        FRAME[["s_next", "a", "s"]].astype(float),
        FRAME.set_index(FRAME.index + 100),
    ],
    ids=lambda history: type(history).__name__,
)
def test_every_form_of_a_history(history):
    seen = replay(WORLD, history, "PIG(VI)")
    assert seen.identical(replay(WORLD, RUN, "PIG(VI)"))
    assert np.array_equal(np.stack([seen.s, seen.a, seen.s_next], axis=1), LINES)


def test_a_path_from_a_store(tmp_path):
    study = Experiment({"mine": [WORLD]}, ["PIG(VI)", "Unembodied"], n_worlds=1, n_steps=50)
    results = study.run(tmp_path / "results.zarr")
    label = str(results.dataset.world.values[0])
    for name in results.strategies:
        seen = replay(WORLD, results.history(label, name), name)
        assert seen.sizes["step"] == 50 and float(seen.log_likelihood.min()) >= np.log(1 / (4 * 36)) - 1e-9


def test_three_lines_are_lines_and_three_arrays_are_columns():
    lines = [[0, 1, 2], [2, 0, 1], [1, 1, 0]]
    assert read_history(lines, Labels("state", 3), Labels("action", 2)).steps.tolist() == lines
    columns = [np.array([0, 2]), np.array([1, 0]), np.array([2, 1])]
    assert read_history(columns, Labels("state", 3), Labels("action", 2)).steps.tolist() == lines[:2]


def test_the_dataset_has_attributes():
    seen = replay(WORLD, RUN, "PIG(VI)")
    assert dict(seen.sizes) == {"step": 40, "action": 4} and seen.attrs["strategy"] == "PIG(VI)"
    assert seen.action_values.dims == seen.probabilities.dims == seen.utilities.dims == ("step", "action")
    units = {name: seen[name].attrs["units"] for name in seen.data_vars}
    assert units["action_values"] == units["utilities"] == units["expected_missing_information"] == "bits"
    assert units["log_likelihood"] == "nats" and units["probabilities"] == "1"
    assert replay(WORLD, RUN, "LTA").action_values.attrs["units"] == "minus times taken"
    assert replay(WORLD, RUN, "CB").action_values.attrs["units"] == "minus expected visits"
    assert replay(WORLD, RUN, "PLC(VI)").action_values.attrs["units"] == "1"
    assert seen.probabilities.sum("action").values == pytest.approx(np.ones(40))


@pytest.mark.parametrize("history", [[], np.empty((0, 3), dtype=int), FRAME.iloc[:0], iter(())])
@pytest.mark.parametrize("name", ["PIG(VI)", "Unembodied"])
def test_a_history_of_nothing(history, name):
    assert dict(replay(WORLD, history, name).sizes) == {"step": 0, "action": 4}


def test_every_subject_has_one_explorer_through_all_episodes():
    other = explore(WORLD, "Random", n_steps=40, seed=9)
    theirs = pd.DataFrame({"s": other.states[:-1], "a": other.actions, "s_next": other.next_states})
    both = pd.concat(
        [FRAME.assign(subject="anna", episode=[0] * 25 + [1] * 15), theirs.assign(subject="ben", episode=0)]
    )
    mixed = both.sample(frac=1.0, random_state=1).sort_index(kind="stable")  # takes turns, in the order of each
    seen = replay(WORLD, mixed, "PIG(VI)")
    assert (
        seen.subject.values.tolist() == mixed.subject.tolist()
        and seen.episode.values.tolist() == mixed.episode.tolist()
    )
    for name, alone in (("anna", RUN), ("ben", other)):
        part = seen.isel(step=np.flatnonzero(seen.subject == name))
        single = replay(WORLD, alone, "PIG(VI)")
        for array_name in ("action_values", "log_likelihood", "expected_missing_information_after", "s"):
            assert np.array_equal(part[array_name].values, single[array_name].values)
    assert seen.log_likelihood.groupby("subject").sum().sizes == {"subject": 2}


@pytest.mark.parametrize("labels", [[3, 3, 1], ["b", "b", "a"], [(0, 1), (0, 1), (0, 2)], [1, "1", 1], [1.5, 1.5, 2.0]])
def test_labels_may_be_anything_hashable(labels):
    frame = pd.DataFrame([[0, 0, 1], [1, 1, 2], [0, 0, 1]], columns=["s", "a", "s_next"]).assign(subject=labels)
    seen = replay(PRIOR, frame, "PIG(VI)")
    assert seen.subject.values.tolist() == labels
    fresh = seen.expected_missing_information.values == seen.expected_missing_information.values[0]
    assert fresh.tolist() == [i == 0 or labels[i] not in labels[:i] for i in range(3)]


def test_the_explorer_moves_to_the_start_of_a_new_episode():
    """CB counts a visit of the state that the agent was put into; nothing is learned of how it came there."""
    frame = pd.DataFrame({"s": [0, 2], "a": [0, 1], "s_next": [1, 0], "episode": [0, 1]})
    counts = np.zeros((2, 3, 3), dtype=int)
    counts[0, 0, 1] = 1
    visits = np.array([1, 1, 1])  # 0, then 1, then put into 2
    expected = -(PRIOR.estimate(counts)[:, 2] @ visits)
    assert replay(PRIOR, frame, "CB").action_values.values[1] == pytest.approx(expected)


@pytest.mark.parametrize("engine", ["compiled", "numpy"])
@pytest.mark.parametrize("ended", [False, True])
def test_an_episode_that_begins_where_the_last_one_ended_is_no_second_visit(ended, engine):
    """To replay as to an explorer that is asked and told; one that is put elsewhere has visited that."""
    for begin, visits in ((1, [1, 1, 0]), (2, [1, 1, 1]), (0, [2, 1, 0])):
        lines = [(0, 0, 1), (begin, 1, 0)]
        frame = pd.DataFrame(lines, columns=["s", "a", "s_next"]).assign(episode=[0, 1], ended=[ended, False])
        counts = np.zeros((2, 3, 3), dtype=int)
        counts[0, 0, 1] = 1
        expected = -(PRIOR.estimate(counts)[:, begin] @ np.array(visits))
        assert replay(PRIOR, frame, "CB", engine=engine).action_values.values[1] == pytest.approx(expected)
        explorer = berlyne.Explorer(PRIOR, "CB")
        explorer.observe(*lines[0], ended=ended)
        assert explorer.action_values(begin) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("history", "message"),
    [
        ([(0, 0, 1), (0, 2, 1)], ("a", "2", "line 1", "0", "1")),
        ([(0, 0, 1), (3, 0, 1)], ("s", "3", "line 1", "0", "2")),
        ([(0, 0, -1)], ("s_next", "-1", "line 0", "0", "2")),
        ([(0, 0, 1), (0, 0.5, 1)], ("a", "0.5", "line 1")),
        (np.array([[0, 0, 1], [0.5, 0, 1]]), ("s", "0.5", "line 1")),
        ([(0, True, 1)], ("a", "True", "line 0")),
        ([("x", 0, 1)], ("s", "'x'", "line 0")),
        ([(0, 0, 1), (0, 0)], ("line 1", "(0, 0)")),
        ([0, 1, 2], ("line 0", "0")),
        (np.zeros((3, 2), dtype=int), ("history", "(3, 2)", "(T, 3)")),
        (
            (np.zeros(2), np.zeros(3), np.zeros(2)),
            ("s, a", "s_next", "2, 3, 2", "same length"),
        ),
        ("history.csv", ("history", "'history.csv'")),
        (None, ("history", "None")),
        (pd.DataFrame({"s": [0], "action": [0]}), ("history", "s, action", "no a", "no s_next")),
        (pd.DataFrame({"s": [0, np.nan], "a": 0, "s_next": 1}), ("s", "nan", "line 1")),
        (pd.DataFrame({"s": [0, 1], "a": 0, "s_next": 1, "subject": ["x", None]}), ("subject", "line 1")),
    ],
)  # fmt: skip
def test_invalid_histories_are_refused_with_the_line(history, message):
    with raises(ValueError, *message):
        replay(PRIOR, history)


@pytest.mark.parametrize("engine", ["compiled", "numpy"])
def test_the_impossible_is_refused_with_the_line(engine):
    far = int(np.flatnonzero(WORLD.prior.estimate(np.zeros((4, 36, 36), dtype=int))[0, 0] == 0)[0])
    frame = pd.DataFrame([*LINES[:5].tolist(), [0, 0, far]], columns=["s", "a", "s_next"])
    named = "line 5", "action 0", "state 0", f"state {far}"
    with raises(ValueError, *named):
        replay(WORLD, frame, "PIG(VI)", engine=engine)
    frame["subject"] = [0, 1, 0, 1, 0, 1]
    with raises(ValueError, *named):
        replay(WORLD, frame, "PIG(VI)", engine=engine)


def test_a_world_without_a_prior_is_refused():
    with raises(ValueError, "world", "prior"):
        replay(World(WORLD.rows), RUN)
    with raises(ValueError, "engine", "'fast'"):
        replay(WORLD, RUN, engine="fast")


class Sticky:
    """Nothing but estimates."""

    def estimate(self, counts):
        c = counts + 1.0 + np.eye(counts.shape[-1])
        return c / c.sum(axis=-1, keepdims=True)


class Telling(Sticky):
    def expected_missing_information(self, counts):
        return 1.0 / (1.0 + counts.sum(axis=-1))


def test_custom_priors():
    lines = [(0, 0, 1), (1, 1, 1), (1, 1, 2)]
    seen = replay(Sticky(), lines, "PIG(greedy)", n_states=3, n_actions=2)
    assert np.all(np.isnan(seen.expected_missing_information)) and np.all(np.isfinite(seen.action_values))
    replayed = replay(Telling(), lines, "PIG(greedy)", n_states=3, n_actions=2)
    assert replayed.expected_missing_information.values == pytest.approx([6.0, 5.5, 5.0])
    assert replayed.expected_missing_information_after.values == pytest.approx([5.5, 5.0, 4.0 + 1 / 2 + 1 / 3])
    with raises(ValueError, "number of states"):
        replay(Sticky(), lines)


def test_custom_methods():
    class Mine:
        def values(self, view, s):
            return view.counts[:, s].sum(axis=1)

    class Deciding:
        def choose(self, view, s, u):
            return int(u[0] < 0.25)

        def probabilities(self, view, s):
            return [0.75, 0.25]

    lines = [(0, 1, 0), (0, 1, 0), (0, 0, 2)]
    seen = replay(PRIOR, lines, Strategy("mine", Mine()))
    assert seen.action_values.values.tolist() == [[0, 0], [0, 1], [0, 2]]
    assert seen.probabilities.values.tolist() == [[0.5, 0.5], [0, 1], [0, 1]]
    assert seen.log_likelihood.values.tolist() == [np.log(0.5), 0.0, -np.inf]
    seen = replay(PRIOR, lines, Strategy("deciding", Deciding()))
    assert seen.log_likelihood.values == pytest.approx(np.log([0.25, 0.25, 0.75]))
    assert np.all(np.isnan(seen.action_values))
    with raises(ValueError, "mine", "probabilities", "unknown"):
        replay(PRIOR, lines, Strategy("mine", lambda view, s, u: 0))


def test_it_is_public():
    assert berlyne.replay is replay and "replay" in berlyne.__all__


def test_a_history_in_labels_is_that_of_its_numbers():
    theta = np.random.default_rng(0).dirichlet(np.ones(3), (2, 3))
    prior = berlyne.Dirichlet(1.0, n_states=3, n_actions=2)
    states, actions = ["red", ("b", 1), None], ["l", "r"]
    named = berlyne.World(theta, prior, states=states, actions=actions)
    run = berlyne.explore(named, "PIG(VI)", n_steps=12, seed=1)
    numbers = np.stack([run.states[:-1], run.actions, run.next_states], axis=1)
    spoken = [(states[s], actions[a], states[z]) for s, a, z in numbers.tolist()]
    plain = berlyne.replay(prior, numbers, "PIG(VI)")
    for history in (
        berlyne.replay(named, spoken, "PIG(VI)"),
        berlyne.replay(named, run, "PIG(VI)"),
        berlyne.replay(prior, spoken, "PIG(VI)", states=states, actions=actions),
    ):
        for name in ("action_values", "probabilities", "log_likelihood", "expected_missing_information"):
            assert np.array_equal(history[name].values, plain[name].values)
        assert history.action.values.tolist() == actions
        assert list(zip(history.s.values, history.a.values, history.s_next.values, strict=True)) == spoken
    with raises(ValueError, "line 1", "s", "'rde'", "'red'"):
        berlyne.replay(named, [("red", "l", None), ("rde", "l", None)])


def two_subjects():
    """A frame of two subjects of one path each, of which replaying them as one would say something else."""
    frame = pd.DataFrame(LINES[:40], columns=["s", "a", "s_next"])
    return frame.assign(subject=["anna"] * 20 + ["ben"] * 20, episode=[0] * 10 + [1] * 30, ended=[False] * 39 + [True])


@pytest.mark.parametrize(
    "levels", [["subject"], ["subject", "episode"], ["s"], ["episode", "a", "ended"], ["s", "a", "s_next", "subject"]]
)
@pytest.mark.parametrize("engine", ["compiled", "numpy"])
def test_index_levels_of_a_frame_count_as_columns(levels, engine):
    frame = two_subjects()
    expected = replay(WORLD.prior, frame, "PIG(VI, temperature=0.1)", engine=engine)
    replayed = replay(WORLD.prior, frame.set_index(levels), "PIG(VI, temperature=0.1)", engine=engine)
    assert replayed.identical(expected)
    alone = replay(WORLD.prior, LINES[20:40], "PIG(VI, temperature=0.1)", engine=engine)
    assert np.array_equal(replayed.log_likelihood.values[20:], alone.log_likelihood.values)


@pytest.mark.parametrize("name", ["Subject", " subject", "EPISODE", "S", "s_next ", "Ended"])
@pytest.mark.parametrize("index", [False, True])
def test_a_column_that_is_almost_one_of_a_history_is_refused(name, index):
    meant = name.strip().lower()
    frame = two_subjects().rename(columns={meant: name})
    with raises(ValueError, "history", f"'{name}'", meant):
        replay(WORLD.prior, frame.set_index(name) if index else frame)


def test_a_column_that_stands_in_the_index_as_well_is_refused():
    frame = two_subjects().set_index("subject", drop=False)
    with raises(ValueError, "history", "2", "subject", "index"):
        replay(WORLD.prior, frame)


def test_three_arrays_of_three_are_lines_or_columns_and_so_neither():
    lines, prior = np.array([[0, 1, 1], [1, 0, 0], [0, 0, 1]]), Dirichlet(1.0, n_states=2, n_actions=2)
    assert berlyne.replay(prior, lines, "Random").s.values.tolist() == [0, 1, 0]
    with raises(ValueError, "3", "lines", "columns"):
        berlyne.replay(prior, list(lines), "Random")
    assert berlyne.replay(prior, tuple(lines.T), "Random").s.values.tolist() == [0, 1, 0]
    assert berlyne.replay(prior, list(lines[:2]), "Random").s.values.tolist() == [0, 1]


def test_a_run_is_replayed_by_its_labels_where_they_are_in_another_order():
    theta = np.array([[[0.1, 0.2, 0.7], [0.6, 0.3, 0.1], [0.2, 0.2, 0.6]]] * 2)
    prior = Dirichlet(1.0, n_states=3, n_actions=2)
    one = World(theta, prior, states=["a", "b", "c"], actions=["l", "r"])
    other = World(theta, prior, states=["c", "a", "b"], actions=["r", "l"])
    run = explore(one, "PIG(VI)", n_steps=30, seed=1)
    by_run, by_lines = (berlyne.replay(other, replayed, "PIG(VI)") for replayed in (run, run.history))
    assert by_run.s.values.tolist() == [s for s, _, _ in run.history]
    assert by_run.a.values.tolist() == [a for _, a, _ in run.history]
    np.testing.assert_array_equal(by_run.action_values, by_lines.action_values)
