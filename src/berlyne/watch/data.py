"""What a page shows, as plain values: the world, and each run with all that was believed along it.

Arrays are kept as bytes (little-endian, base64) beside the name of their type. Probabilities repeat: each different
one is kept once, with a whole number for every place that it stands in.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from berlyne.exploration.run import Run
from berlyne.priors import Dirichlet, OneTwoThree
from berlyne.strategies.utilities import UTILITIES
from berlyne.validation import FloatArray, IndexArray, IntArray
from berlyne.watch.beliefs import Events, belief_events, displayed_utility
from berlyne.watch.methods import describe_method
from berlyne.worlds.layout import MAX_LAYOUT_STATES, places
from berlyne.worlds.world import World

MAX_RUNS = 4
"""Runs that stand side by side."""
TYPES = {"u1": "Uint8Array", "u2": "Uint16Array", "u4": "Uint32Array", "i4": "Int32Array", "f8": "Float64Array"}
"""What JavaScript calls the types of arrays."""
FORMAT = 1


def page_data(runs: Sequence[Run], seed: int = 0) -> dict[str, Any]:
    """All that a page shows of runs in one world; `seed` draws what happens to a person who takes over."""
    checked = check_runs(runs)
    return {
        "format": FORMAT,
        "seed": int(seed),
        "world": _world(checked[0].world),
        "runs": [_run(run, name) for run, name in zip(checked, _told_apart(checked), strict=True)],
    }


def check_runs(runs: Any) -> list[Run]:
    """One to four runs in the same world, or a `ValueError`."""
    listed = list(runs) if isinstance(runs, Iterable) else [runs]
    for run in listed:
        if not isinstance(run, Run):
            raise ValueError(
                f"a page shows runs in a world that is known, as berlyne.explore returns them, not {type(run).__name__}"
            )
    if not 1 <= len(listed) <= MAX_RUNS:
        raise ValueError(f"there are {len(listed)} runs; a page shows 1 to {MAX_RUNS} side by side")
    first = listed[0].world
    for run in listed[1:]:
        if not _same(first, run.world):
            raise ValueError(
                f"{listed[0].strategy} and {run.strategy} explored different worlds; a page shows runs in the same one"
            )
    return listed


def _same(one: World, other: World) -> bool:
    """Whether two worlds have the same transitions, labels and ends; what is believed of them may differ."""
    arrays = [(getattr(one.rows, name), getattr(other.rows, name)) for name in ("indptr", "indices", "data")]
    arrays.append((one.terminal, other.terminal))
    sizes = one.n_actions == other.n_actions and one.n_states == other.n_states
    labels = tuple(one.states) == tuple(other.states) and tuple(one.actions) == tuple(other.actions)
    return one is other or (sizes and labels and all(np.array_equal(a, b) for a, b in arrays))


def encode_array(array: Any, kind: str = "f8") -> dict[str, str]:
    """An array as the name of its type in JavaScript and its bytes."""
    content = np.ascontiguousarray(array, dtype=f"<{kind}").tobytes()
    return {"type": TYPES[kind], "bytes": base64.b64encode(content).decode("ascii")}


def encode_unsigned(array: IntArray | IndexArray) -> dict[str, str]:
    """Whole numbers that are not negative, in the smallest type that holds them."""
    most = int(array.max(initial=0))
    return encode_array(array, "u1" if most < 2**8 else "u2" if most < 2**16 else "u4")


def _world(world: World) -> dict[str, Any]:
    geometry = world.geometry
    states, cumulative = world.episodes.starts
    by_layout = world.positions is None and world.n_states <= MAX_LAYOUT_STATES
    maze = None
    if geometry is not None:
        maze = {
            "side": geometry.side,
            "base": geometry.base,
            "passages": encode_array(geometry.passages, "u1"),
            "transporters": encode_array(geometry.transporters, "u1"),
        }
    return {
        "name": str(world.name),
        "n_states": world.n_states,
        "n_actions": world.n_actions,
        "states": _spoken(world.states, 0),
        "actions": _named_actions(world),
        "labelled": world.state_labels.custom is not None,
        "places": encode_array(places(world)),
        "laid_out": by_layout,
        "listed": world.positions is None and not by_layout,
        "terminal": world.terminal.tolist(),
        "start": {"states": encode_unsigned(states), "cumulative": encode_array(cumulative)},
        "indptr": encode_unsigned(world.rows.indptr),
        "indices": encode_unsigned(world.rows.indices),
        "theta": encode_array(world.rows.data),
        "maze": maze,
    }


def _spoken(labels: Sequence[Any], first: int) -> list[str]:
    """Labels as text; numbers where there are none."""
    return [str(label + first) if isinstance(labels, range) else str(label) for label in labels]


def _named_actions(world: World) -> list[str]:
    """Labels of actions; of a maze without any, the directions."""
    if world.geometry is not None and world.action_labels.custom is None and world.n_actions == 4:
        return ["up", "down", "left", "right"]
    return _spoken(world.actions, 0)


def _told_apart(runs: list[Run]) -> list[str]:
    """The names of strategies, numbered where several runs have the same."""
    names = [str(run.strategy) for run in runs]
    return [f"{n}, {names[: i + 1].count(n)}" if names.count(n) > 1 else n for i, n in enumerate(names)]


def _run(run: Run, name: str) -> dict[str, Any]:
    events = belief_events(run)
    method = {
        name: encode_array(value) if isinstance(value, np.ndarray) else value
        for name, value in describe_method(run).items()
    }
    return {
        "name": name,
        "n_steps": run.n_steps,
        "states": encode_unsigned(run.states),
        "actions": encode_unsigned(run.actions),
        "next_states": encode_unsigned(run.next_states),
        "missing": encode_array(_curve(run, events)),
        "relocates": run.strategy.relocates,
        "utility": _utility(run),
        "method": method,
        "belief": _belief(run.world),
        **_packed_events(events, run.world),
    }


def _curve(run: Run, events: Events) -> FloatArray:
    """Missing information (T + 1,) in bits: the run's own, or from its rows where a store has not kept it."""
    if np.all(np.isfinite(run.missing_information)):
        return run.missing_information
    now, curve = np.zeros(run.world.n_states * run.world.n_actions), np.empty(run.n_steps + 1)
    ends = np.searchsorted(events.time, np.arange(run.n_steps + 1), side="right")
    begin = 0
    for t, end in enumerate(ends.tolist()):
        now[events.row[begin:end]] = events.missing[begin:end]
        curve[t], begin = now.sum(), end
    return curve


def _utility(run: Run) -> dict[str, Any]:
    """What the utility that is shown is called, its unit, and whether the strategy goes by it."""
    utility = displayed_utility(run.strategy)
    known = UTILITIES.get(utility) if isinstance(utility, str) else None
    name = known.name if known else str(getattr(utility, "__name__", "utility"))
    unit = known.unit if known else "1"
    return {"name": name, "unit": "" if unit == "1" else unit, "own": run.strategy.utility is not None}


def _packed_events(events: Events, world: World) -> dict[str, Any]:
    """Events whose estimates are kept where a row ever expected anything, or something can happen.

    support : all rows' possible states, one row after another, `indptr` where each begins; entries : for each event as
    many numbers of `values` as its row has possible states.
    """
    n_rows = world.n_states * world.n_actions
    possible = np.zeros((n_rows, world.n_states), dtype=bool)
    np.logical_or.at(possible, events.row, events.estimates > 0.0)
    possible[world.rows.row_numbers(), world.rows.indices] = True
    values, entries = np.unique(events.estimates[possible[events.row]], return_inverse=True)
    return {
        "indptr": encode_unsigned(np.concatenate([[0], np.cumsum(possible.sum(axis=1))])),
        "support": encode_unsigned(np.nonzero(possible)[1]),
        "values": encode_array(values),
        "entries": encode_unsigned(entries.ravel()),
        "event_time": encode_unsigned(events.time),
        "event_row": encode_unsigned(events.row),
        "event_utility": encode_array(events.utility),
        "event_missing": encode_array(events.missing),
    }


def _belief(world: World) -> dict[str, Any] | None:
    """How a person's beliefs follow from counts; None for a prior that the page does not know.

    Dirichlet: estimates (alpha + n) / (alpha S + K). 1-2-3: tables `[a, T, first_seen]` of the estimate of
    state 0 and of any other state that was not seen, of PIG and of expected missing information.
    """
    prior = world.prior
    if type(prior) is Dirichlet:
        return {"kind": "dirichlet", "alpha": prior.alpha}
    if type(prior) is OneTwoThree:
        table = prior.compiled_spec("PIG").table
        columns = {"first": table[:, 0], "other": table[:, 1], "pig": table[:, 4]}
        columns["expected"] = prior.compiled_spec("novelty").table[:, 4]
        return {"kind": "targets", **{name: encode_array(column) for name, column in columns.items()}}
    return None
