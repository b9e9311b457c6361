"""Frames of people's choices: roles of columns, likely mistakes, missing entries, allowed actions, other columns."""

import warnings

import numpy as np
import pandas as pd
import pytest

import berlyne
from berlyne import ChineseRestaurant, Dirichlet, Explorer, InternalModel, World, replay

PRIOR = Dirichlet(1.0, n_states=4, n_actions=2)
NAN = float("nan")


def walk(seed, n=40, n_states=4, n_actions=2):
    """A path at random, as a frame."""
    rng = np.random.default_rng(seed)
    states = rng.integers(n_states, size=n + 1)
    return pd.DataFrame({"s": states[:-1], "a": rng.integers(n_actions, size=n), "s_next": states[1:]})


def people():
    """Two people of two episodes each, whose columns have the names of a study."""
    parts = [
        walk(seed).assign(participant=name, block=block, trial=np.arange(40), rt=np.linspace(0.2, 0.9, 40))
        for seed, (name, block) in enumerate([("anna", 1), ("anna", 2), ("ben", 1), ("ben", 2)])
    ]
    return pd.concat(parts, ignore_index=True)


def test_unused_columns_are_named():
    frame = people()
    with pytest.warns(UserWarning, match="not used") as caught:
        replay(PRIOR, frame, "PIG(VI)")
    text = str(caught[0].message)
    for name in ("participant", "block", "trial", "rt", "subject='participant'", "episode='block'", "order='trial'"):
        assert name in text
    assert "one subject" in text and caught[0].filename == __file__
    with pytest.warns(UserWarning, match="'rt'.* not used") as caught:
        replay(PRIOR, frame, subject="participant", episode="block", order="trial")
    assert len(caught) == 1 and "participant" not in str(caught[0].message)
    for learner in (Explorer(PRIOR), InternalModel(PRIOR)):
        with pytest.warns(UserWarning, match="'rt'.* not used"):
            learner.observe_many(frame[:40], subject="participant", episode="block", order="trial")


def test_roles_of_columns():
    frame = people()
    usual = frame.drop(columns=["trial", "rt"]).rename(columns={"participant": "subject", "block": "episode"})
    expected = replay(PRIOR, usual.assign(ended=frame.s_next == 3), "PIG(VI)")
    other = frame.rename(columns={"s": "place", "a": "key", "s_next": "then"})
    names = {"state": "place", "action": "key", "next_state": "then", "subject": "participant", "episode": "block"}
    replayed = replay(
        PRIOR, other, "PIG(VI)", **names, order="trial", ended=lambda d: d["then"] == 3, keep=["rt", "trial"]
    )
    assert replayed.drop_vars(["rt"]).identical(expected)
    assert replayed.rt.dims == ("step",) and np.array_equal(replayed.rt, frame.rt)
    told = replay(PRIOR, other.assign(over=other["then"] == 3), "PIG(VI)", **names, ended="over", keep=["rt", "trial"])
    assert np.array_equal(told.action_values, expected.action_values)
    indexed = other.set_index(["participant", "block", "trial"])
    again = replay(PRIOR, indexed.assign(over=other["then"].values == 3), **names, ended="over", keep=["rt", "trial"])
    assert np.array_equal(again.action_values, expected.action_values)


@pytest.mark.parametrize(
    ("names", "error", "parts"),
    [
        ({"subject": "participnt"}, ValueError, ["subject", "'participnt'", "'participant'"]),
        ({"subject": "participant", "episode": "participant"}, ValueError, ["participant", "subject and episode"]),
        ({"keep": ["time"]}, ValueError, ["keep", "'time'"]),
        ({"subjects": "participant"}, TypeError, ["'subjects'", "subject"]),
        ({"ended": lambda d: [True]}, ValueError, ["ended", "(1,)", "(160,)"]),
        ({"order": "trial"}, ValueError, ["order", "'trial'", "two lines"]),  # four episodes count from zero
    ],
)
def test_names_that_are_wrong(names, error, parts):
    with pytest.raises(error) as caught:
        replay(PRIOR, people(), "Random", **names)
    for part in parts:
        assert part in str(caught.value)


def test_only_a_frame_has_columns():
    with pytest.raises(ValueError, match=r"^subject= names a column of a frame, but the history is \[\(0, 0, 1\)\]"):
        replay(PRIOR, [(0, 0, 1)], subject="participant")


def test_rows_are_learned_by_order_and_returned_as_given():
    frame, names = people(), {"subject": "participant", "episode": "block", "order": "trial", "keep": ["rt"]}
    expected = replay(PRIOR, frame, "PIG(VI)", **names)
    shuffled = np.random.default_rng(0).permutation(len(frame))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        replayed = replay(PRIOR, frame.iloc[shuffled], "PIG(VI)", **names)
    for name in ("action_values", "expected_missing_information", "s", "rt"):
        assert np.array_equal(replayed[name], expected[name].values[shuffled])
    with pytest.warns(UserWarning, match="in no order.*sort them, or pass order="):
        wrong = replay(
            PRIOR, frame.iloc[shuffled], "PIG(VI)", subject="participant", episode="block", keep=["rt", "trial"]
        )
    assert not np.allclose(wrong.expected_missing_information, replayed.expected_missing_information)
    running = frame.assign(trial=np.tile(np.arange(80), 2))[::-1]  # unique within each person, and so enough
    backwards = replay(PRIOR, running, "PIG(VI)", subject="participant", order="trial", keep=["rt", "block"])
    assert np.array_equal(backwards.action_values, expected.action_values.values[::-1])


def test_explorers_learn_rows_by_order():
    frame = people()[:80]
    one, other = Explorer(PRIOR, "CB"), Explorer(PRIOR, "CB")
    one.observe_many(frame[["s", "a", "s_next"]].values)
    other.observe_many(
        frame.sample(frac=1.0, random_state=1), subject="participant", episode="block", order="trial", keep=["rt"]
    )
    assert one.history == other.history and np.array_equal(one.action_values(2), other.action_values(2))


def test_ends_stay_with_their_rows_if_these_are_sorted():
    explorer = Explorer(PRIOR)
    frame = pd.DataFrame({"s": [1, 0], "a": 0, "s_next": [2, 1], "ended": [True, False], "trial": [1, 0]})
    explorer.observe_many(frame, order="trial")
    assert explorer.history == [(0, 0, 1), (1, 0, 2)] and [line.ended for line in explorer.history] == [False, True]
    assert explorer.here == 2 and explorer.episode_is_over


def test_gaps_and_rows_in_no_order():
    frame = people().rename(columns={"participant": "subject", "block": "episode"})[
        ["s", "a", "s_next", "subject", "episode"]
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        replay(PRIOR, frame)  # jumps between episodes and people are none
        replay(PRIOR, frame[frame.index != 20].drop(columns="episode"))  # a jump may begin an episode
        replay(PRIOR, frame.sample(frac=1.0, random_state=3), "Unembodied")
    gap = frame.assign(s_next=np.where(frame.index == 6, 3 - frame.s_next, frame.s_next))
    with pytest.warns(UserWarning, match="gaps") as caught:
        replay(PRIOR, gap)
    for part in ("1 of 156", "line 7,", "line 6", f"begins in {gap.s[7]}", f"led to {gap.s_next[6]}"):
        assert part in str(caught[0].message)
    for shuffled in (
        frame.sample(frac=1.0, random_state=3),
        frame.drop(columns="episode").sample(frac=1.0, random_state=3),
    ):
        with pytest.warns(UserWarning, match="in no order"):
            replay(PRIOR, shuffled)
        with pytest.warns(UserWarning, match="in no order"):
            Explorer(PRIOR).observe_many(shuffled[shuffled.subject == "anna"])
    alternating = pd.DataFrame({"s": [0, 1, 0, 1], "a": 0, "s_next": [0, 1, 0, 1], "episode": [1, 2, 1, 2]})
    with pytest.warns(UserWarning, match="in no order: line 2, counted from 0, goes back to episode 1"):
        replay(PRIOR, alternating)


def test_a_jump_after_an_end_is_no_gap():
    frame = pd.DataFrame({"s": [0, 1, 0, 1, 0], "a": 0, "s_next": [1, 2, 1, 2, 1], "episode": 1})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        replay(PRIOR, frame.assign(ended=frame.s_next == 2))
    with pytest.warns(UserWarning, match="gaps"):
        replay(PRIOR, frame.assign(ended=False))


def test_ends_that_were_not_told():
    lines = [(0, 0, 1, 1), (1, 0, 3, 1), (0, 1, 2, 2), (2, 0, 3, 2), (0, 0, 0, 3)]
    frame = pd.DataFrame(lines, columns=["s", "a", "s_next", "episode"])
    with pytest.warns(UserWarning, match="state 3 is only ever the last .*pass ended="):
        untold = replay(PRIOR, frame)
    told = replay(PRIOR, frame.assign(ended=frame.s_next == 3))  # no warning
    assert not np.allclose(told.action_values, untold.action_values)
    world = World(np.full((2, 4, 4), 0.25), PRIOR)
    replay(world, frame)  # the world tells its ends
    replay(PRIOR, frame[:4].assign(episode=[1, 1, 1, 1], s_next=[1, 0, 2, 3]))  # one episode, cut in 3
    once_more = pd.concat([frame, pd.DataFrame([(3, 0, 0, 4)], columns=frame.columns)])
    replay(PRIOR, once_more)  # it goes on from 3
    explorer = Explorer(PRIOR)
    with pytest.warns(UserWarning, match="state 3 is only ever the last"):
        explorer.observe_many(frame)
    known = Explorer(PRIOR)
    known.ends_in([3])
    known.observe_many(frame)


@pytest.mark.parametrize("engine", ["compiled", "numpy"])
def test_a_missing_action_counts_as_a_visit_and_no_more(engine):
    """By hand: CB prefers rare states; counts of the rows that were recorded, visits of all states that were seen."""
    frame = pd.DataFrame({"s": [0, 1, 2, 2, 1], "a": [0, NAN, 1, NAN, 1], "s_next": [1, 2, 2, 2, 0]})
    seen = replay(PRIOR, frame, "CB", engine=engine)
    counts, visits = np.zeros((2, 4, 4)), np.array([1, 1, 2, 0])  # before the fourth line: 0, 1, 2, 2
    counts[0, 0, 1] = counts[1, 2, 2] = 1
    estimate = (counts + 1) / (counts + 1).sum(axis=-1, keepdims=True)
    assert seen.action_values.values[3] == pytest.approx(-estimate[:, 2] @ visits)
    visits += np.array([0, 1, 1, 0])  # the fourth line leads to 2; the fifth jumps to 1
    assert seen.action_values.values[4] == pytest.approx(-estimate[:, 1] @ visits)
    assert np.isnan(seen.log_likelihood.values).tolist() == [False, True, False, True, False]
    assert np.isnan(seen.a.values).tolist() == [False, True, False, True, False]
    missing = seen.expected_missing_information.values
    assert missing[2] == missing[1] == seen.expected_missing_information_after.values[1] != missing[0]
    lines = [(0, 0, 1), (1, None, 2), (2, 1, 2), (2, None, 2), (1, 1, 0)]
    assert np.array_equal(replay(PRIOR, lines, "CB", engine=engine).action_values, seen.action_values)


@pytest.mark.parametrize("engine", ["compiled", "numpy"])
def test_a_missing_next_state_teaches_nothing(engine):
    frame = pd.DataFrame({"s": [0, 1, 1, 3], "a": [0, 1, 0, NAN], "s_next": [1, NAN, 3, NAN]})
    seen = replay(PRIOR, frame, "CB", engine=engine)
    assert np.isnan(seen.log_likelihood.values).tolist() == [False, True, False, True]
    counts = np.ones((2, 4, 4))
    counts[0, 0, 1] += 1
    estimate = counts / counts.sum(axis=-1, keepdims=True)
    assert seen.action_values.values[2] == pytest.approx(-estimate[:, 1] @ [1, 2, 0, 0])  # the line begins anew in 1
    only = replay(PRIOR, [(0, 0, 1), (1, 0, 3)], "PIG(VI)", engine=engine)
    both = replay(PRIOR, frame, "PIG(VI)", engine=engine)
    assert np.array_equal(both.action_values.values[[0, 2]], only.action_values)


@pytest.mark.parametrize("engine", ["compiled", "numpy"])
@pytest.mark.parametrize("prior", [PRIOR, ChineseRestaurant(0.8)], ids=["known states", "discovered states"])
def test_an_end_after_a_missing_action_is_learned(prior, engine):
    lines = [(0, 0, 1, False), (1, None, 2, True), (2, None, None, False), (0, 1, 1, False), (1, 0, 0, False)]
    seen = replay(prior, lines, "PIG(VI)", n_actions=2, engine=engine)
    explorer = Explorer(prior, "PIG(VI)", n_actions=2)
    explorer.observe(0, 0, 1)
    if prior is not PRIOR:
        explorer.discover([2])
    explorer.ends_in([2])
    assert seen.action_values.values[3] == pytest.approx(explorer.action_values(0))
    assert seen.expected_missing_information.values[3] == pytest.approx(explorer.expected_missing_information().bits)
    explorer.observe(0, 1, 1)
    assert seen.action_values.values[4] == pytest.approx(explorer.action_values(1))
    learner = Explorer(prior, "PIG(VI)", n_actions=2)
    learner.observe_many(lines)
    explorer.observe(1, 0, 0)
    assert list(learner.states) == list(explorer.states) and learner.history == explorer.history
    assert learner.action_values(0) == pytest.approx(explorer.action_values(0))


@pytest.mark.parametrize("strategy", ["PIG(VI)", "CB", "PIG(Q)", "Unembodied", "PEIG(greedy)"])
@pytest.mark.parametrize("prior", [PRIOR, ChineseRestaurant(0.8), ChineseRestaurant("ml")], ids=repr)
def test_engines_agree_on_missing_entries(prior, strategy):
    rng, frame = np.random.default_rng(5), walk(9, n=60)
    frame["a"] = frame.a.where(rng.random(60) > 0.3)
    frame["s_next"] = frame.s_next.where(rng.random(60) > 0.2)
    fast, plain = (replay(prior, frame, strategy, n_actions=2, engine=engine) for engine in ("compiled", "numpy"))
    for name in ("action_values", "probabilities", "log_likelihood", "expected_missing_information_after"):
        np.testing.assert_allclose(fast[name], plain[name], rtol=1e-9, atol=1e-10, err_msg=name)
    complete = frame.dropna()
    model = InternalModel(PRIOR)
    model.observe_many(frame)
    assert model.n_obs == len(complete) < 60 and Explorer(PRIOR).observe_many(frame) is None


def test_a_state_must_not_be_missing():
    with pytest.raises(ValueError, match=r"s is nan in line 1"):
        replay(PRIOR, pd.DataFrame({"s": [0, NAN], "a": 0, "s_next": 1}))


@pytest.mark.parametrize("name", ["PIG(VI, temperature=0.2, lapse=0.1)", "PIG(greedy)", "Random"])
@pytest.mark.parametrize("engine", ["compiled", "numpy"])
def test_allowed_actions(name, engine):
    prior = Dirichlet(1.0, n_states=3, n_actions=3)
    lines = [(0, 0, 1), (1, 2, 1), (1, 1, 2), (2, 0, 0)]
    frame = pd.DataFrame(lines, columns=["s", "a", "s_next"])
    allowed = [[0, 1], None, (1, 2), "0, 2"]
    seen = replay(prior, frame.assign(allowed=allowed), name, engine=engine)
    explorer = Explorer(prior, name)
    for t, (line, among) in enumerate(zip(lines, ([0, 1], None, [1, 2], [0, 2]), strict=True)):
        expected = explorer.probabilities(line[0], among=among)
        assert seen.probabilities.values[t] == pytest.approx(expected)
        with np.errstate(divide="ignore"):
            assert seen.log_likelihood.values[t] == pytest.approx(np.log(expected[line[1]]))
        explorer.observe(*line)
    other = replay(prior, frame.assign(can=allowed), name, engine=engine, allowed="can")
    assert other.identical(seen)


def test_one_allowed_action_is_the_missing_one():
    frame = pd.DataFrame({"s": [0, 1], "a": [NAN, 1], "s_next": [1, 0], "allowed": [[1], None]})
    seen = replay(PRIOR, frame, "PIG(VI)")
    recorded = replay(PRIOR, [(0, 1, 1), (1, 1, 0)], "PIG(VI)")
    for name in ("action_values", "expected_missing_information_after", "a"):
        assert np.array_equal(seen[name], recorded[name])
    assert np.isnan(seen.log_likelihood.values).tolist() == [True, False]
    assert seen.probabilities.values[0].tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("allowed", "parts"),
    [
        ([[1], None], ["line 0", "[1]", "such as 0, which was taken"]),
        ([[], None], ["line 0", "[]"]),
        ([None, [5]], ["line 1", "[5]", "0 to 1"]),
        ([None, 7], ["line 1", "7", "a list of actions"]),
        ([None, "0 x"], ["line 1", "'0 x'", "'x'"]),
    ],
)
def test_allowed_actions_that_are_wrong(allowed, parts):
    frame = pd.DataFrame({"s": [0, 1], "a": [0, 1], "s_next": [1, 0]}).assign(allowed=pd.Series(allowed, dtype=object))
    with pytest.raises(ValueError, match="allowed") as caught:
        replay(PRIOR, frame, "Random")
    for part in parts:
        assert part in str(caught.value)
    with pytest.raises(ValueError, match=r"Unembodied .*allowed"):
        replay(PRIOR, frame.assign(allowed=[[0], [1]]), "Unembodied")


def test_other_columns_become_coordinates():
    frame = walk(1, n=5).assign(rt=[0.1, 0.2, NAN, 0.4, 0.5], action=list("abcde"), s_=0)
    seen = replay(PRIOR, frame, keep=["rt", "action", "s_"])
    assert seen.rt.values.tolist()[:2] == [0.1, 0.2] and seen.action_.values.tolist() == list("abcde")
    assert seen.coords["rt"].dims == ("step",) and seen.action.values.tolist() == [0, 1]


def test_the_set_of_actions_is_inferred():
    frame = pd.DataFrame({"s": ["x", "y", "x"], "a": [3, 1, NAN], "s_next": ["y", "x", "x"]})
    seen = replay(ChineseRestaurant(1.0), frame, "PIG(VI)")
    assert seen.action.values.tolist() == [1, 3] and seen.a.values.tolist() == [3, 1, None]
    lines = [("x", "l", "y"), ("y", "r", "x")]
    assert replay(ChineseRestaurant(1.0), lines, "PIG(VI)").action.values.tolist() == ["l", "r"]
    allowed = frame.assign(allowed=[[3, 4], None, None])
    assert replay(ChineseRestaurant(1.0), allowed, "PIG(VI)").action.values.tolist() == [1, 3, 4]
    run = berlyne.explore(berlyne.maze(0), "LTA", n_steps=3)  # has four actions, of which it took fewer
    assert replay(ChineseRestaurant(1.0), run, "Random").sizes["action"] == 4


class Table:
    """A frame of another library: columns by name, and nothing of pandas."""

    def __init__(self, **columns):
        self.columns, self._columns = list(columns), columns

    def __getitem__(self, name):
        return self._columns[name]


def test_any_frame_with_columns():
    table = Table(s=[0, 1, 2], a=[0, 1, 0], s_next=[1, 2, 0], who=["p", "q", "q"], rt=[1.0, 2.0, 3.0])
    seen = replay(PRIOR, table, subject="who", keep=["rt"])
    frame = pd.DataFrame({"s": [0, 1, 2], "a": [0, 1, 0], "s_next": [1, 2, 0], "subject": ["p", "q", "q"]})
    assert seen.drop_vars("rt").identical(replay(PRIOR, frame)) and seen.rt.values.tolist() == [1.0, 2.0, 3.0]


def test_a_history_knows_its_ends_when_it_is_told_again():
    explorer = Explorer(PRIOR)
    explorer.observe(0, 0, 3, ended=True)
    explorer.observe(0, 1, 1)
    assert [line.ended for line in explorer.history] == [True, False]
    again = Explorer(PRIOR)
    again.observe_many(explorer.history)
    assert again.expected_missing_information().bits == explorer.expected_missing_information().bits
