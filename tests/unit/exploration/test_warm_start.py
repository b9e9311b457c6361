"""Explorers and models that learn an existing log, in every format that `replay` accepts, completely or not at all."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import berlyne
from berlyne import ChineseRestaurant, Dirichlet, Explorer, InternalModel, World, explore, replay

THETA = np.random.default_rng(0).dirichlet(np.ones(5), (3, 5))
PRIOR = Dirichlet(1.0, n_states=5, n_actions=3)
STATES, ACTIONS = ["red", ("b", 1), None, "4", 7], ["l", "r", "jump"]
WORLD = World(THETA, PRIOR)
ENDING = World(THETA, PRIOR, states=STATES, actions=ACTIONS, start="red", terminal=["4"])
RUN = explore(WORLD, "PIG(VI)", n_steps=30, seed=1)
LINES = np.stack([RUN.states[:-1], RUN.actions, RUN.next_states], axis=1).astype(np.int64)
FRAME = pd.DataFrame(LINES, columns=["s", "a", "s_next"])


def one_by_one(explorer, lines, ended=None):
    for i, (s, a, s_next) in enumerate(lines):
        explorer.observe(s, a, s_next, ended=bool(ended is not None and ended[i]))
    return explorer


def same(one, other):
    assert list(map(tuple, one.history)) == list(map(tuple, other.history))
    assert np.array_equal(one.utility(), other.utility()) and np.array_equal(one.model.counts, other.model.counts)
    assert list(one.states) == list(other.states) and one.here == other.here
    for s in one.states:
        assert np.array_equal(one.action_values(s), other.action_values(s)) and one.act(s) == other.act(s)
    assert one.expected_missing_information().bits == other.expected_missing_information().bits
    one.undo(), other.undo()
    assert np.array_equal(one.utility(), other.utility())


FORMS = {
    "lines": LINES.tolist(),
    "an array": LINES,
    "floats": LINES.astype(float),
    "a generator": lambda: (tuple(line) for line in LINES.tolist()),
    "three arrays": tuple(LINES.T),
    "three series": [FRAME.s, FRAME.a, FRAME.s_next],
    "a run": RUN,
    "a frame": FRAME,
    "a frame in another order": FRAME[["s_next", "a", "s"]].assign(subject="anna", episode=np.arange(30) // 10),
    "a frame with an index": FRAME.assign(subject=1).set_index(["subject", "s"]),
    "tuples of a frame": list(FRAME.itertuples(index=False)),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("strategy", ["PIG(VI)", "CB"])
def test_a_log_in_any_format_equals_single_observations(form, strategy):
    history = FORMS[form]() if callable(FORMS[form]) else FORMS[form]
    learner = Explorer(PRIOR, strategy, seed=2)
    learner.observe_many(history)
    same(learner, one_by_one(Explorer(PRIOR, strategy, seed=2), LINES.tolist()))
    model, counts = InternalModel(PRIOR), np.zeros((3, 5, 5), dtype=int)
    np.add.at(counts, (LINES[:, 1], LINES[:, 0], LINES[:, 2]), 1)
    model.observe_many(FORMS[form]() if callable(FORMS[form]) else history)
    assert np.array_equal(model.counts, counts)


def test_three_arrays_of_three_are_columns_as_in_replay():
    columns = np.array([0, 1, 2]), np.array([0, 1, 0]), np.array([1, 2, 0])
    explorer = Explorer(PRIOR)
    explorer.observe_many(columns)
    assert list(map(list, explorer.history)) == np.stack(columns, axis=1).tolist()
    assert replay(PRIOR, columns).s.values.tolist() == [0, 1, 2]


def ending_run(n_steps=40):
    run = explore(ENDING, "PIG(VI)", n_steps=n_steps, seed=3)
    return run, run.next_states == 3


@pytest.mark.parametrize("strategy", ["PIG(VI)", "PEIG(Q)", "CB", "LTA"])
@pytest.mark.parametrize("prior", [PRIOR, ChineseRestaurant(1.0, n_actions=3)], ids=["known", "discovered"])
def test_a_frame_marks_ends_of_episodes(strategy, prior):
    run, ended = ending_run()
    assert 2 < np.count_nonzero(ended) < 20
    named = {"actions": ACTIONS} if prior is not PRIOR else {"states": STATES, "actions": ACTIONS}
    learner = Explorer(prior, strategy, seed=4, **named)
    learner.observe_many(pd.DataFrame(run.history, columns=["s", "a", "s_next"]).assign(ended=ended))
    same(learner, one_by_one(Explorer(prior, strategy, seed=4, **named), run.history, ended))


@pytest.mark.parametrize("strategy", ["PIG(VI)", "PEIG(Q)", "CB", "Unembodied"])
def test_a_run_brings_its_ends(strategy):
    run, _ = ending_run()
    learner, expected = (Explorer(PRIOR, strategy, seed=4, states=STATES, actions=ACTIONS) for _ in range(2))
    learner.observe_many(run)
    expected.ends_in(["4"])
    one_by_one(expected, run.history)
    assert np.array_equal(learner.utility(), expected.utility()) and learner.history == expected.history
    if strategy != "Unembodied":
        seen = replay(PRIOR, run, strategy, states=STATES, actions=ACTIONS)
        learner.undo()
        assert np.array_equal(learner.action_values(run.history[-1][0]), seen.action_values.values[-1])
        assert learner.expected_missing_information().bits == pytest.approx(
            float(seen.expected_missing_information[-1]), abs=1e-9
        )


@pytest.mark.parametrize("strategy", ["PIG(VI)", "PEIG(Q)", "CB"])
def test_a_run_of_other_states_is_discovered_with_its_ends(strategy):
    run, ended = ending_run()
    prior = ChineseRestaurant(1.0, n_actions=3)
    learner, expected = (Explorer(prior, strategy, seed=4, actions=ACTIONS) for _ in range(2))
    learner.observe_many(run)
    same(learner, one_by_one(expected, run.history, ended))


def test_a_run_of_an_environment_is_learned_with_its_ends():
    run, ended = ending_run()
    learner, expected = Explorer(PRIOR), Explorer(PRIOR)
    learner.observe_many(
        SimpleNamespace(states=run.states, actions=run.actions, next_states=run.next_states, terminated=ended)
    )
    lines = zip(run.states[:-1].tolist(), run.actions.tolist(), run.next_states.tolist(), strict=True)
    same(learner, one_by_one(expected, lines, ended))


@pytest.mark.parametrize(
    "make",
    [lambda: Explorer(PRIOR), lambda: Explorer(ChineseRestaurant(1.0, n_actions=3)), lambda: InternalModel(PRIOR)],
)
def test_several_subjects_are_not_one(make):
    explorer = make()
    frame = FRAME.assign(subject=["anna"] * 10 + ["ben"] * 20)
    for form in (frame, frame.set_index("subject")):
        with pytest.raises(
            ValueError,
            match=r"^the history has 2 subjects, 'anna' and others; select one of them, or drop the column subject",
        ):
            explorer.observe_many(form)
        assert explorer.n_obs == 0
    explorer.observe_many(frame[frame.subject == "anna"])
    assert explorer.n_obs == 10


def test_an_impossible_line_is_named_with_what_was_seen_before():
    prior = berlyne.maze(0).prior
    rooms = [f"r{i}" for i in range(36)]
    far = next(s for s in range(36) if s not in prior.support.row(0, 0))
    near = [int(s) for s in prior.support.row(0, 0)[:2]]
    history = [("r0", 0, f"r{s}") for s in [near[0], *near, far]]
    before = ", ".join(f"'r{s}'" for s in sorted(near))
    for thing in (Explorer(prior, states=rooms), InternalModel(prior, states=rooms)):
        with pytest.raises(
            ValueError,
            match=rf"^line 3 of the history, counted from 0: action 0 in state 'r0' led to state 'r{far}', "
            rf"which has probability zero under the prior \(in earlier observations it led to {before}\); "
            r"check the transition, or use a prior that allows it; see docs/how-to/own-prior\.md$",
        ):
            thing.observe_many(history)
        with pytest.raises(ValueError, match=r"^line 1 of the history, counted from 0: s is 'r99'; .*$"):
            thing.observe_many([history[0], ("r99", 0, "r0")])
        assert thing.n_obs == 0
    for history, message in (
        (
            [(0, 0, far)],
            rf"^line 0 of .*: action 0 in state 0 led to state {far}, .* zero under the prior; check .*own-prior\.md$",
        ),
        ([(0, 0, near[0]), (0, 4, 0)], r"^a is 4 in line 1 of the history, counted from 0; it must be a whole number"),
    ):
        with pytest.raises(ValueError, match=message):
            Explorer(prior).observe_many(history)


def test_a_row_of_many_outcomes_is_abbreviated():
    model = InternalModel(berlyne.OneTwoThree(20, 12))
    seen = list(range(1, 13))
    with pytest.raises(
        ValueError, match=r" \(in earlier observations it led to 1, 2, 3, 4, 5, 6 and 6 more\); check .*own-prior\.md$"
    ):
        model.observe_many([(0, 11, s) for s in [*seen, 15]])
