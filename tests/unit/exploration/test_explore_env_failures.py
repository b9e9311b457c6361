"""Environments that fail during exploration: the error names the step, and the finished steps are kept."""

from __future__ import annotations

import decimal
import fractions
import functools
import pickle
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import berlyne
from berlyne import ChineseRestaurant, Dirichlet, ExplorationError, Explorer, explore_env

gymnasium = pytest.importorskip("gymnasium")

RAISED = "the motor is stuck"
RESTAURANT = ChineseRestaurant(1.0)


class Ring(gymnasium.Env):
    """Five states in a ring, left or right; state 3 ends an episode. Some answers may be replaced, by their number."""

    observation_space = gymnasium.spaces.Discrete(5)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, steps=None, resets=None):
        self.wrong_steps, self.wrong_resets = steps or {}, resets or {}
        self.n_steps = self.n_resets = 0
        self.log = []  # s, a, s_next of all steps, as they happened

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.s = 0
        self.n_resets += 1
        return self._answer(self.wrong_resets.get(self.n_resets - 1), (0, {}))

    def step(self, action):
        s, self.s = self.s, (self.s + (1 if action else -1)) % 5
        self.log.append((s, int(action), self.s))
        self.n_steps += 1
        usual = self.s, float(self.s), self.s == 3, False, {}
        return self._answer(self.wrong_steps.get(self.n_steps - 1), usual)

    def _answer(self, wrong, usual):
        return usual if wrong is None else wrong(usual)


def part(i, value):
    """An answer whose part `i` is replaced."""
    return lambda usual: (*usual[:i], value, *usual[i + 1 :])


def stuck(_):
    raise RuntimeError(RAISED)


def failure(env, n_steps=20, **options):
    with pytest.raises(ExplorationError) as caught:
        explore_env(env, "PIG(VI)", n_steps=n_steps, seed=0, **options)
    return caught.value


@functools.cache
def uninterrupted(prior):
    """Return the run in a ring that never fails."""
    return explore_env(Ring(), "PIG(VI)", n_steps=101, seed=0, prior=prior).history


def check_kept(run, log, n_steps, prior=None):
    """A run holds the first steps of the log, its explorer knows them and no more, and goes on as if nothing was."""
    states = run.explorer.states
    assert run.n_steps == run.explorer.n_obs == n_steps
    assert run.history == log[:n_steps]
    assert run.explorer.history == log[:n_steps]
    for history in (run.history, run.explorer.history):
        assert [line.ended for line in history] == run.terminated.tolist()
    assert [len(a) for a in (run.actions, run.next_states, run.rewards, run.episode, run.terminated)] == [n_steps] * 5
    path = [run.labels[0][s] for s in run.states.tolist()]
    assert path[:n_steps] == [line[0] for line in log[:n_steps]] and len(path) in ({n_steps + 1} if n_steps else {0, 1})
    if n_steps:  # the last state is where the next action is taken: where the ring begins, if it said so
        last = log[n_steps - 1][2]
        assert path[-1] in ({0, last} if last == 3 else {last})
    assert run.rewards.tolist() == [float(line[2]) for line in log[:n_steps]]
    assert run.terminated.tolist() == [line[2] == 3 for line in log[:n_steps]]
    counts = np.zeros((2, 5, 5))
    for s, a, s_next in log[:n_steps]:
        counts[a, s, s_next] += 1
    n = len(states)
    np.testing.assert_array_equal(run.explorer.model.counts[:, :n, :n], counts[:, states][:, :, states])
    here, action, _ = uninterrupted(prior)[n_steps]
    if here in states:  # unless the environment failed before it said so
        assert run.explorer.act(here) == action


WRONG_STEPS = {
    "a string": (part(1, "1.5"), "the reward is '1.5'; it must be a real number"),
    "no reward": (part(1, None), "the reward is None; it must be a real number"),
    "complex": (part(1, 1j), "the reward is 1j; it must be a real number"),
    "complex of NumPy": (part(1, np.complex128(2)), r"the reward is .*2\+0j.*; it must be a real number"),
    "two rewards": (part(1, np.array([1.0, 2.0])), r"the reward is an array of shape \(2,\); it must be a real number"),
    "words of NumPy": (part(1, np.array("1.5")), "the reward is .*'1.5'.*; it must be a real number"),
    "a time": (part(1, np.timedelta64(3, "ns")), "the reward is .*timedelta64.*; it must be a real number"),
    "a list": (part(1, [1.0]), r"the reward is \[1.0\]; it must be a real number"),
    "too large": (part(1, 10**400), r"the reward is 10+\.\.\.; it must be a real number"),
    "two ends": (
        part(2, np.array([False, True])),
        r"terminated is an array of shape \(2,\); it must be True or False",
    ),
    "an end in words": (part(2, "False"), "terminated is 'False'; it must be True or False"),
    "no end": (part(2, None), "terminated is None; it must be True or False"),
    "a number for an end": (part(3, 0.0), "truncated is 0.0; it must be True or False"),
    "a dictionary": (part(3, {}), "truncated is {}; it must be True or False"),
    "unknown": (part(0, 5), "the observation is 5; it must be a whole number from 0 to 4"),
    "unhashable": (part(0, [1]), r"the observation is \(1,\); it must be a whole number from 0 to 4"),
    "four parts": (
        lambda usual: usual[:4],
        r"step\(\) returned \(.*\); it must return \(observation, reward, terminated, truncated, info\), as in Gy.*",
    ),
    "nothing": (lambda usual: None, r"step\(\) returned None; it must return \(observation, reward, .*"),
    "an array": (lambda usual: np.zeros(9), r"step\(\) returned an array of shape \(9,\); it must return \(obs.*"),
    "an error": (
        stuck,
        rf"step\(\) raised RuntimeError\('{RAISED}'\); it must return \(observation, reward, terminated, .*",
    ),
    "an error of value": (
        lambda usual: int("x"),
        r"step\(\) raised ValueError\(.invalid literal .*\); it must return \(observation, reward, .*",
    ),
}


@pytest.mark.parametrize("prior", [None, RESTAURANT], ids=["known", "discovered"])
@pytest.mark.parametrize("name", WRONG_STEPS)
def test_an_invalid_step_is_reported_and_earlier_steps_are_kept(name, prior):
    wrong, message = WRONG_STEPS[name]
    if prior is not None and name in ("unknown", "unhashable"):
        wrong = part(0, {1})
        message = r"the observation is \{1\}, which is not hashable; use a string or a tuple \(.*\)"
    env = Ring({7: wrong})
    error = failure(env, prior=prior)
    action = env.log[7][1]
    assert error.step == 7 and "\n" not in str(error)
    assert re.fullmatch(rf"step 7, action {action}: {message}", str(error)), str(error)
    check_kept(error.run, env.log, 7, prior=prior)
    if "error" in name:
        assert type(error.__cause__) in (RuntimeError, ValueError) and error.__cause__.__traceback__ is not None
    else:
        assert error.__cause__ is None
    assert any("run" in note and "7 steps" in note for note in error.__notes__)


WRONG_RESETS = {
    "an error": (stuck, rf"reset\(\) raised RuntimeError\('{RAISED}'\); it must return \(observation, info\).*"),
    "no pair": (lambda usual: 0, r"reset\(\) returned 0; it must return \(observation, info\).*"),
    "unknown": (part(0, -1), "the observation is -1; it must be a whole number from 0 to 4"),
}


@pytest.mark.parametrize("reset_number", [0, 1, 3])
@pytest.mark.parametrize("name", WRONG_RESETS)
def test_an_invalid_reset_is_reported_with_the_next_step(name, reset_number):
    wrong, message = WRONG_RESETS[name]
    env = Ring(resets={reset_number: wrong})
    error = failure(env, n_steps=100)
    n = len(env.log)
    assert sum(line[2] == 3 for line in env.log) == reset_number and (n == 0) == (reset_number == 0)
    assert error.step == n and re.fullmatch(rf"before step {n}: {message}", str(error)), str(error)
    check_kept(error.run, env.log, n)
    assert error.run.n_episodes == reset_number
    assert (type(error.__cause__) is RuntimeError) == (name == "an error")


@pytest.mark.parametrize(
    ("reward", "number"),
    [
        (2, 2.0),
        (True, 1.0),
        (np.float32(0.5), 0.5),
        (np.array([3.0]), 3.0),
        (np.array(4), 4.0),
        (np.longdouble(0.25), 0.25),
        (fractions.Fraction(1, 4), 0.25),
        (decimal.Decimal("0.5"), 0.5),
        (float("inf"), np.inf),
        (float("nan"), np.nan),
    ],
    ids=str,
)
def test_any_real_number_is_a_reward(reward, number):
    """NaN and infinity are kept as they are: the explorer never uses rewards."""
    run = explore_env(Ring({2: part(1, reward)}), n_steps=4, seed=0)
    np.testing.assert_array_equal(run.rewards[2], number)
    assert run.n_steps == 4 and np.isfinite(run.rewards[[0, 1, 3]]).all()


@pytest.mark.parametrize("true", [True, np.True_, np.array(True), np.array([True])], ids=repr)
def test_one_bool_of_numpy_is_a_bool(true):
    run = explore_env(Ring({1: part(2, true), 3: part(3, true)}), n_steps=6, seed=0)
    assert run.terminated[1] and not run.terminated[3]
    assert run.episode[2] == run.episode[1] + 1 and run.episode[4] == run.episode[3] + 1


def test_errors_of_observe_are_reported():
    def observe(seen):
        return {0: "a", 1: "b", 4: "e"}[seen]

    env = Ring()
    error = failure(env, observe=observe, states=list("abcde"))
    seen = env.log[-1][2]
    assert str(error) == (
        f"step {len(env.log) - 1}, action {env.log[-1][1]}: observe= raised KeyError({seen}) for the observation "
        f"{seen}; it must return a state"
    )
    assert isinstance(error.__cause__, KeyError) and error.run.n_steps == len(env.log) - 1 == error.run.explorer.n_obs


def test_impossible_transitions_are_reported_with_their_step():
    """Nobody may go from 0 to 4 by this prior; the explorer does go there by its second action, or its first."""
    support = np.ones((2, 5, 5), dtype=bool)
    support[:, 0, 4] = False
    env = Ring()
    error = failure(env, prior=Dirichlet(1.0, support=support))
    n = len(env.log) - 1
    assert env.log[n] == (0, 0, 4) and (0, 0, 4) not in env.log[:n]
    assert str(error).startswith(f"step {n}, action 0: ") and error.run.n_steps == error.run.explorer.n_obs == n


def test_errors_of_a_custom_strategy_keep_the_run():
    calls = []

    class Broken:
        def values(self, view, s):
            calls.append(s)
            if len(calls) == 5:
                raise ZeroDivisionError("nothing to divide by")
            return np.zeros(2)

    env = Ring()
    with pytest.raises(ExplorationError) as caught:
        explore_env(env, berlyne.Strategy("Broken", coordinate=Broken()), n_steps=9, seed=0)
    assert str(caught.value) == "step 4: the explorer raised ZeroDivisionError('nothing to divide by')"
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert caught.value.run.history == env.log and len(env.log) == 4


def interrupt(_):
    raise KeyboardInterrupt


@pytest.mark.parametrize("options", [{"steps": {7: interrupt}}, {"resets": {2: interrupt}}], ids=["step", "reset"])
def test_an_interrupt_stays_one_and_carries_the_run(options):
    env = Ring(**options)
    with pytest.raises(KeyboardInterrupt) as caught:
        explore_env(env, "PIG(VI)", n_steps=100, seed=0)
    assert type(caught.value) is KeyboardInterrupt and not isinstance(caught.value, Exception)
    n = 7 if "steps" in options else len(env.log)
    assert n > 4
    check_kept(caught.value.run, env.log, n)
    assert any("run" in note and f"{n} steps" in note for note in caught.value.__notes__)


PACKAGE = Path(berlyne.__file__).parent
WATCHED = {
    str(PACKAGE / file)
    for file in (
        "exploration/explore_env.py",
        "exploration/explorer.py",
        "agents/open_state_agent.py",
        "agents/compiled_agent.py",
        "labels.py",
    )
}


class Interrupting:
    """Presses Ctrl-C at one line of our code that runs within `explore_env`, after the first reset."""

    def __init__(self, at):
        self.at, self.n, self.on = at, 0, False

    def __call__(self, frame, event, _):
        return self.line if frame.f_code.co_filename in WATCHED else None

    def line(self, frame, event, _):
        if event == "line" and self.on:
            self.n += 1
            if self.n == self.at:
                self.on = False
                raise KeyboardInterrupt
        return self.line


@pytest.mark.parametrize("prior", [None, RESTAURANT], ids=["known", "discovered"])
def test_an_interrupt_at_any_line_leaves_no_step_half_learned(prior):
    assert [file for file in sorted(WATCHED) if not Path(file).is_file()] == []
    n_steps, at, lengths, ended = 5, 1, [], False
    while True:
        env, press = Ring(), Interrupting(at)

        def begin(usual, press=press):
            press.on = True
            return usual

        env.wrong_resets = {0: begin}
        sys.settrace(press)
        try:
            run = explore_env(env, "PIG(VI)", n_steps=n_steps, seed=0, prior=prior)
        except KeyboardInterrupt as error:
            run = error.run
        finally:
            sys.settrace(None)
        if press.on:  # there was no such line any more
            break
        assert len(env.log) - run.n_steps in (0, 1)
        check_kept(run, env.log, run.n_steps, prior=prior)
        lengths.append(run.n_steps)
        ended |= bool(run.terminated.any())
        at += 2 if prior is None else 5  # steps differ in how many lines they run, so all lines have their turn
    assert set(lengths) == set(range(n_steps + 1)) and len(lengths) > 100 and ended


def test_the_run_of_an_error_can_be_continued():
    """The explorer of the run goes on as the one of an environment that never failed."""
    env = Ring({7: stuck})
    explorer, whole = failure(env).run.explorer, explore_env(Ring(), "PIG(VI)", n_steps=20, seed=0)
    for (s, a, s_next), ended in list(zip(whole.history, whole.terminated.tolist(), strict=True))[7:]:
        assert explorer.act(s) == a
        explorer.observe(s, a, s_next, ended=ended)
    assert explorer.expected_missing_information().bits == whole.explorer.expected_missing_information().bits
    assert isinstance(explorer, Explorer)


def test_the_error_can_be_sent_to_another_process_without_its_run():
    error = failure(Ring({7: stuck}))
    sent = pickle.loads(pickle.dumps(error))
    assert type(sent) is ExplorationError and str(sent) == str(error) and sent.step == 7 and sent.run is None
    assert isinstance(sent, ValueError)
