"""Contents of a page as plain values: the world, and each run with the beliefs along it.

Arrays are stored as bytes (little-endian, base64) with the name of their type. Probabilities repeat, so each distinct
value is stored once, and an unsigned integer refers to it.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from berlyne.appearance import AGENT, BLUE, SHADE_STOPS, Look, dark_twin, distinct_looks
from berlyne.exploration.run import Run
from berlyne.priors import Dirichlet, OneTwoThree, Prior
from berlyne.strategies.utilities import UTILITIES
from berlyne.validation import IndexArray, IntArray
from berlyne.watch.beliefs import Events, belief_events, displayed_utility, known_world
from berlyne.watch.explain import explain_strategy
from berlyne.watch.methods import describe_method, describe_planning
from berlyne.worlds.layout import MAX_LAYOUT_STATES, action_directions, grid_passages, is_grid, places
from berlyne.worlds.world import World

MAX_RUNS = 4
"""Largest number of runs side by side."""
TYPES = {"u1": "Uint8Array", "u2": "Uint16Array", "u4": "Uint32Array", "i4": "Int32Array", "f8": "Float64Array"}
"""JavaScript types of arrays, by NumPy type code."""
FORMAT = 2


def page_data(
    runs: Sequence[Run], seed: int = 0, notes: Mapping[int, str] | None = None, *, estimated: bool = False
) -> dict[str, Any]:
    """Return the contents of a page of runs in one world.

    Parameters
    ----------
    runs : sequence of Run
        One to four runs in the same world.
    seed : int
        Seed for the steps of a person who takes over.
    notes : mapping of int to str, optional
        Texts by the step from which they are shown.
    estimated : bool
        Whether the probabilities of the world are not the truth, but the estimates after all steps.

    Returns
    -------
    dict
        Plain values, which can be written as JSON.
    """
    checked = check_runs(runs)
    return {
        "format": FORMAT,
        "seed": int(seed),
        "notes": check_notes(notes, max(run.n_steps for run in checked)),
        "appearance": {
            "shades": {theme: list(stops) for theme, stops in SHADE_STOPS.items()},
            "transporter": _both_themes(BLUE),
            "you": _both_themes(AGENT),
        },
        "world": {**_world(known_world(checked[0])), "estimated": estimated},
        "runs": [_run(run, look) for run, look in zip(checked, _looks(checked), strict=True)],
    }


def check_runs(runs: Any) -> list[Run]:
    """Return the runs as a list; raise a `ValueError` unless they are one to four runs in the same world."""
    listed = list(runs) if isinstance(runs, Iterable) else [runs]
    for run in listed:
        if not isinstance(run, Run):
            raise ValueError(
                f"a page shows runs in a known world, as berlyne.explore returns them, not {type(run).__name__}"
            )
        if run.world is None:
            raise ValueError(
                f"a page compares beliefs with the truth, and that of the environment which {run.strategy} explored is "
                "unknown; use plot_path() or animate()"
            )
    if not 1 <= len(listed) <= MAX_RUNS:
        raise ValueError(f"there are {len(listed)} runs; a page shows 1 to {MAX_RUNS} side by side")
    first = known_world(listed[0])
    for run in listed[1:]:
        if not _same_world(first, known_world(run)):
            raise ValueError(
                f"{listed[0].strategy} and {run.strategy} explored different worlds; a page shows runs in one world"
            )
    return listed


def check_notes(notes: Any, n_steps: int) -> list[list[Any]]:
    """Return pairs of a step and a text in the order of time; raise a `ValueError` if one is invalid."""
    if notes is None:
        return []
    if not isinstance(notes, Mapping):
        raise ValueError(
            f"notes is {notes!r:.60}; it must be a mapping from steps to texts, such as {{0: 'Guess first.'}}"
        )
    for step, text in notes.items():
        if not isinstance(step, int | np.integer) or isinstance(step, bool) or not 0 <= step <= n_steps:
            raise ValueError(f"notes has the step {step!r}; it must be a whole number from 0 to {n_steps}")
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"the note of step {step} is {text!r:.60}; it must be a text")
    return [[int(step), notes[step]] for step in sorted(notes)]


def _same_world(world: World, other: World) -> bool:
    """Return whether two worlds have the same transitions, labels, ends and possible actions; priors may differ."""
    arrays = [(getattr(world.rows, name), getattr(other.rows, name)) for name in ("indptr", "indices", "data")]
    arrays += [(world.terminal, other.terminal), (world.allowed, other.allowed)]
    sizes = world.n_actions == other.n_actions and world.n_states == other.n_states
    labels = tuple(world.states) == tuple(other.states) and tuple(world.actions) == tuple(other.actions)
    return world is other or (sizes and labels and all(np.array_equal(a, b) for a, b in arrays))


def encode_array(array: Any, kind: str = "f8") -> dict[str, str]:
    """Return an array as the name of its JavaScript type and its bytes."""
    content = np.ascontiguousarray(array, dtype=f"<{kind}").tobytes()
    return {"type": TYPES[kind], "bytes": base64.b64encode(content).decode("ascii")}


def encode_unsigned(array: IntArray | IndexArray) -> dict[str, str]:
    """Return an array of non-negative integers, encoded in the smallest type that holds them."""
    largest = int(array.max(initial=0))
    return encode_array(array, "u1" if largest < 2**8 else "u2" if largest < 2**16 else "u4")


def _world(world: World) -> dict[str, Any]:
    geometry = world.geometry
    states, cumulative = world.episodes.starts
    by_layout = world.positions is None and world.n_states <= MAX_LAYOUT_STATES
    maze = None
    if geometry is not None:
        maze = {"base": geometry.base, "transporters": encode_array(geometry.transporters, "u1")}
    kind = "maze" if geometry is not None else "grid" if is_grid(world) else "graph"
    passages = None
    if kind != "graph":
        passages = encode_array(grid_passages(world) if geometry is None else geometry.passages, "u1")
    return {
        "name": str(world.name),
        "fingerprint": world_fingerprint(world),
        "n_states": world.n_states,
        "n_actions": world.n_actions,
        "states": _texts(world.states),
        "actions": _action_names(world),
        "labelled": world.state_labels.custom is not None,
        "places": encode_array(places(world)),
        "laid_out": by_layout,
        "listed": world.positions is None and not by_layout,
        "terminal": world.terminal.tolist(),
        "forbidden": np.flatnonzero(~world.allowed.T.ravel()).tolist(),
        "uncounted": np.flatnonzero(~world.is_measured).tolist(),
        "start": {"states": encode_unsigned(states), "cumulative": encode_array(cumulative)},
        "indptr": encode_unsigned(world.rows.indptr),
        "indices": encode_unsigned(world.rows.indices),
        "theta": encode_array(world.rows.data),
        "kind": kind,
        "maze": maze,
        "passages": passages,
        "directions": action_directions(world),
        "marks": [[s, mark] for s, mark in world.marks.items()],
    }


def world_fingerprint(world: World) -> str:
    """Return a short text that is the same for worlds with the same transitions and labels."""
    digest = hashlib.sha256()
    for array in (world.rows.indptr, world.rows.indices):
        digest.update(np.asarray(array, dtype="<i8").tobytes())
    digest.update(np.asarray(world.rows.data, dtype="<f8").tobytes())
    digest.update(repr((_texts(world.states), _texts(world.actions))).encode("utf-8"))
    return digest.hexdigest()[:16]


def _texts(labels: Sequence[Any]) -> list[str]:
    """Return labels as text, such as "tv 3" for ("tv", 3) and "2, 7" for (2, 7); without labels, numbers from 0."""
    return [_tuple_text(label) if isinstance(label, tuple) else str(label) for label in labels]


def _tuple_text(label: tuple[Any, ...]) -> str:
    return (" " if any(isinstance(part, str) for part in label) else ", ").join(map(str, label))


def _action_names(world: World) -> list[str]:
    """Return the labels of actions; directions for a maze without labels."""
    if world.geometry is not None and world.action_labels.custom is None and world.n_actions == 4:
        return ["up", "down", "left", "right"]
    return _texts(world.actions)


def _distinct_names(runs: list[Run]) -> list[str]:
    """Return the names of strategies, numbered if several runs have the same strategy."""
    names = [str(run.strategy) for run in runs]
    return [f"{n}, {names[: i + 1].count(n)}" if names.count(n) > 1 else n for i, n in enumerate(names)]


def _looks(runs: list[Run]) -> list[Look]:
    """Return the looks of runs, as in figures; their names are distinct, too."""
    return list(distinct_looks(_distinct_names(runs)).values())


def _both_themes(colour: str) -> dict[str, str]:
    """Return a colour for light and for dark screens."""
    return {"light": colour, "dark": dark_twin(colour)}


def _run(run: Run, look: Look) -> dict[str, Any]:
    events = belief_events(run)
    method = {
        name: encode_array(value) if isinstance(value, np.ndarray) else value
        for name, value in describe_method(run).items()
    }
    return {
        "name": look.name,
        "about": explain_strategy(run.strategy),
        "colour": _both_themes(look.colour),
        "dash": [] if isinstance(look.line, str) else list(look.line[1]),
        "n_steps": run.n_steps,
        "states": encode_unsigned(run.states),
        "actions": encode_unsigned(run.actions),
        "next_states": encode_unsigned(run.next_states),
        "missing": encode_array(run.missing_information),
        "relocates": run.strategy.relocates,
        "utility": _utility(run),
        "method": method,
        "planning": describe_planning(run),
        "belief": _belief(run.prior),
        **_packed_events(events, known_world(run)),
    }


def _utility(run: Run) -> dict[str, Any]:
    """Return the name and unit of the displayed utility, and whether it is the strategy's own."""
    utility = displayed_utility(run.strategy)
    entry = UTILITIES.get(utility) if isinstance(utility, str) else None
    name = entry.name if entry else str(getattr(utility, "__name__", "utility"))
    unit = entry.unit if entry else "1"
    return {"name": name, "unit": "" if unit == "1" else unit, "own": run.strategy.utility is not None}


def _packed_events(events: Events, world: World) -> dict[str, Any]:
    """Return events, with estimates only for possible next states.

    A next state of a row is possible if its estimate was ever positive, or if its true probability is. `support` lists
    the possible states of all rows, and those of row r start at `indptr[r]`. `entries` has, for each event, one index
    into `values` for each possible state of its row.
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


def _belief(prior: Prior) -> dict[str, Any] | None:
    """Return the data that the page needs to compute beliefs from counts; None for a prior that it does not support.

    Dirichlet with one alpha: estimates are (alpha + n) / (alpha S + K). 1-2-3 Worlds: tables `[a, T, first_seen]` of
    the estimate of state 0 and of any other state if it was not seen, of PIG, and of expected missing information.
    """
    if type(prior) is Dirichlet and prior.schedule is None and isinstance(prior.alpha, float):
        return {"kind": "dirichlet", "alpha": prior.alpha}
    if type(prior) is OneTwoThree:
        table = prior.compiled_spec("PIG").table
        columns = {"first": table[:, 0], "other": table[:, 1], "pig": table[:, 4]}
        columns["expected"] = prior.compiled_spec("parameter_gain").table[:, 4]
        return {"kind": "targets", **{name: encode_array(column) for name, column in columns.items()}}
    return None
