"""Run explorers on a suite: an `Experiment` with the common measures, in an ordinary store.

So a benchmark resumes, can be split into shards, merged, and read like any other study.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from berlyne.benchmarks.measures import MEASURES, Evaluator, PathMeasures
from berlyne.benchmarks.suite import PRESETS, SPLITS, Suite, suite
from berlyne.experiments.measures import Measure
from berlyne.experiments.results import Results
from berlyne.experiments.spec import Experiment
from berlyne.exploration.explore import explore
from berlyne.exploration.run import Run
from berlyne.strategies.registry import Strategy, get_strategy
from berlyne.tasks import draw_rewards
from berlyne.user_modules import import_object

AGENTS = (
    "PIG(VI)", "parameter_gain(VI)", "BEB(VI)", "1/√n(VI)", "R-max(VI)", "RF-UCRL", "RF-Express", "MaxEnt",
    "MaxEnt(states)", "FW-AME", "PSRL(PIG)", "Random", "PIG(VI+)", "Generative",
)  # fmt: skip
"""Explorers of the benchmark with the settings of their authors; the last two are controls."""
TUNED = (
    "PIG(VI, steps_back=30)", "parameter_gain(VI, steps_back=30, gamma=0.95)", "1/√n(VI, steps_back=30)",
    "RF-UCRL(replan=1)", "RF-Express(steps_back=9, replan=1)", "MaxEnt(replan=1)", "MaxEnt(states, replan=1)",
    "FW-AME(steps_back=30, replan=1)", "PSRL(PIG, replan=5)",
)  # fmt: skip
"""The same explorers with the best settings on the tuning split (`benchmarks/tune.py`).

BEB(VI) and R-max(VI) keep their settings, which were the best.
"""
N_REWARDS, N_TIMED = 8, 200
"""Number of reward structures for the loss of policies, and of steps that are timed."""
MAX_EVALUATORS = 64


def load_agent(agent: str | Strategy) -> Strategy:
    """Return an explorer: a `Strategy`, the name of one, or "module:name".

    Parameters
    ----------
    agent : str or Strategy
        A strategy or its name. "mymodule:mine" is an object of a module: a `Strategy`, a coordination method, or a
        class of one that needs no arguments.

    Returns
    -------
    Strategy
        The explorer; one from a module is called "mymodule:mine", unless it is a `Strategy`.

    Raises
    ------
    ValueError
        If there is no such strategy or object.
    """
    if isinstance(agent, Strategy) or ":" not in agent:
        return get_strategy(agent)
    imported = import_object(agent, Path(), classes=True)
    if isinstance(imported, str):
        return get_strategy(imported)
    method = imported() if isinstance(imported, type) else imported
    return method if isinstance(method, Strategy) else Strategy(agent, method)


def experiment(
    tasks: Suite | str = "tabular-v1",
    agents: Iterable[str | Strategy] = AGENTS,
    *,
    split: str = "test",
    preset: str = "full",
    n_worlds: int | None = None,
) -> Experiment:
    """Return the study that runs explorers on a suite.

    Parameters
    ----------
    tasks : Suite or str
        A suite or its name. Tasks whose packages are not installed are left out.
    agents : iterable of str or Strategy
        Explorers, as for `load_agent`.
    split : {"test", "tuning"}
        Which worlds and seeds.
    preset : {"full", "quick", "smoke"}
        Number of worlds of each task, and the share of its steps.
    n_worlds : int, optional
        Number of worlds, if it differs from that of the preset.

    Returns
    -------
    Experiment
        A study. All explorers have the same random numbers, so their differences are paired.
    """
    chosen = (suite(tasks) if isinstance(tasks, str) else tasks).select()
    for name, value, known in (("split", split, SPLITS), ("preset", preset, PRESETS)):
        if value not in known:
            raise ValueError(f"{name} is {value!r}; it must be {' or '.join(known)}")
    size, share = PRESETS[preset]
    return Experiment(
        worlds={task.name: task.make for task in chosen},
        strategies=[load_agent(agent) for agent in agents],
        n_worlds=size if n_worlds is None else n_worlds,
        n_steps={task.name: max(1, round(share * task.n_steps)) for task in chosen},
        horizon={task.name: task.horizon for task in chosen if task.horizon is not None},
        seed=SPLITS[split],
        common_random_numbers=True,
        measures=common_measures(),
    )


def run(
    tasks: Suite | str,
    agents: Iterable[str | Strategy],
    path: str | os.PathLike[str],
    *,
    split: str = "test",
    preset: str = "full",
    n_worlds: int | None = None,
    **options: Any,
) -> Results:
    """Run explorers on a suite, and open the results; only what the store at `path` lacks is run.

    Parameters
    ----------
    tasks, agents, split, preset, n_worlds : object
        As for `experiment`.
    path : path-like
        Directory of the store.
    **options : object
        Options of `Experiment.run`: `jobs`, `shard`, `progress` and others.

    Returns
    -------
    Results
        The results, with the measures of `berlyne.benchmarks.measures.MEASURES`.
    """
    study = experiment(tasks, agents, split=split, preset=preset, n_worlds=n_worlds)
    return study.run(path, **options)


def common_measures() -> dict[str, Measure]:
    """Return the measures of a path under the common prior, for an `Experiment`; the area is a standard measure."""
    names = [name for name in MEASURES if name not in ("area", "missing_information")]
    return {name: Measure(name, partial(_number, name=name), "", MEASURES[name].label, ()) for name in names}


_evaluators: OrderedDict[int, tuple[Any, Evaluator]] = OrderedDict()
_lock = threading.Lock()
_last = threading.local()


def _number(run: Run, name: str) -> float:
    """Return one measure of a run; infinity, if the world was never learned, is NaN."""
    if name == "microseconds":
        return _microseconds(run)
    if getattr(_last, "run", None) is not run:
        _last.measures, _last.run = _measure(run), run
    value = getattr(_last.measures, name)
    return float(value) if math.isfinite(value) else math.nan


def _measure(run: Run) -> PathMeasures:
    assert run.world is not None
    with _lock:
        world, evaluator = _evaluators.get(id(run.world), (None, None))
    if evaluator is None or world is not run.world:
        rewards = draw_rewards(run.world.n_states, np.random.SeedSequence(24), N_REWARDS)
        evaluator = Evaluator(run.world, rewards=rewards)
        with _lock:
            _evaluators[id(run.world)] = run.world, evaluator
            while len(_evaluators) > MAX_EVALUATORS:
                _evaluators.popitem(last=False)
    return evaluator.measure(run.states, run.actions, run.next_states)


def _microseconds(run: Run) -> float:
    """Return the processor time per step of the first steps of the same exploration, in µs."""
    assert run.world is not None
    n_steps = min(N_TIMED, run.n_steps)
    began = time.thread_time()
    explore(run.world, run.strategy, n_steps=n_steps, seed=0)
    return 1e6 * (time.thread_time() - began) / n_steps


def check(agent: str | Strategy, tasks: Sequence[str] = ("river-swim", "maze", "chain-kaufmann-20")) -> list[str]:
    """Check an explorer before it is run on a suite: interface, determinism and speed.

    Parameters
    ----------
    agent : str or Strategy
        An explorer, as for `load_agent`.
    tasks : sequence of str
        Tasks of "tabular-v1" in which it explores for 200 steps.

    Returns
    -------
    list of str
        One line for each check that passed.

    Raises
    ------
    ValueError
        If it cannot explore a world, or explores it differently with the same seed.
    """
    strategy = load_agent(agent)
    lines = [f"interface: {strategy} is a strategy of {type(strategy.coordinate).__name__}"]
    for name in tasks:
        world = suite("tabular-v1")[name].world(np.random.SeedSequence(0))
        try:
            first, second = (explore(world, strategy, n_steps=N_TIMED, seed=1) for _ in range(2))
        except Exception as error:
            raise ValueError(f"{strategy} cannot explore {name}: {type(error).__name__}: {error}") from error
        if not np.array_equal(first.actions, second.actions):
            t = int(np.flatnonzero(first.actions != second.actions)[0])
            raise ValueError(
                f"{strategy} differs with the same seed in {name}, first at step {t}; draw random numbers only from "
                "view.rng, and keep the data of one exploration in view.memory"
            )
        lines.append(f"deterministic in {name}: {_microseconds(first):,.0f} µs per step")
    return lines
