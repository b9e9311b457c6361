"""Files of worlds: `.npz` for a whole world, `.csv` and `.parquet` for its transitions (`berlyne.worlds.edge_table`).

An `.npz` contains rows, labels, start, terminal states, forbidden actions, name, positions or the walls of a maze,
marks, and a built-in prior. It contains no code and is covered by a checksum. Every number is validated when it is
read. Format 1 had no checksum; it is not read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from berlyne.priors import Prior
from berlyne.priors.protocols import discovers_states
from berlyne.priors.registry import NO_FUNCTIONS, can_be_saved, contains_functions, prior_from_description
from berlyne.serialization import UnsupportedFormatError, labels_from_json, labels_to_json, read_archive, write_archive
from berlyne.sparse import Rows
from berlyne.worlds.edge_table import read_edges, write_edges
from berlyne.worlds.layout import Geometry
from berlyne.worlds.maze import destinations
from berlyne.worlds.world import World

FORMAT = 2
SUFFIXES = (".npz", ".csv", ".parquet")


def save_world(path: str | os.PathLike[str], world: World) -> None:
    """Write a world to a .npz, .csv or .parquet file; the file is complete or not written at all."""
    if _suffix(path) != ".npz":
        write_edges(path, world)
        return
    write_archive(path, *serialize_world(world))


def serialize_world(world: World) -> tuple[dict[str, Any], dict[str, Any]]:
    """Convert a world to settings, which can be written as JSON, and arrays.

    Raises
    ------
    ValueError
        If the prior is a custom one, or if the labels cannot be saved.
    """
    rows, prior, geometry, start = world.rows, world.prior, world.geometry, world.start
    arrays: dict[str, Any] = {"indptr": rows.indptr, "indices": rows.indices, "data": rows.data}
    settings: dict[str, Any] = {
        "format": FORMAT,
        "kind": "world",
        "name": str(world.name),
        "n_states": world.n_states,
        "n_actions": world.n_actions,
        "states": labels_to_json(world.state_labels),
        "actions": labels_to_json(world.action_labels),
        "start": start if isinstance(start, int) else None,
        "terminal": world.terminal.tolist(),
        **({} if world.horizon is None else {"horizon": world.horizon}),
    }
    if isinstance(start, np.ndarray):
        arrays["start"] = start
    if world.marks:
        settings["marks"] = [[s, mark] for s, mark in world.marks.items()]
    if not np.all(world.allowed):
        arrays["allowed"] = world.allowed
    if world.measured != "reachable":
        settings["measured"] = world.measured
    if prior is not None:
        if contains_functions(prior):
            raise ValueError(f"{prior!r}: {NO_FUNCTIONS}, or save world.with_prior(None)")
        if not can_be_saved(prior):
            raise ValueError(
                f"the prior {prior!r} is a custom prior, which cannot be saved; save world.with_prior(None)"
            )
        described = prior.describe()  # type: ignore[attr-defined]  # checked above: every built-in prior has it
        n_states = None if discovers_states(prior) else world.n_states
        settings["prior"] = {
            "kind": described.kind,
            **described.parameters,
            "n_states": n_states,
            "n_actions": world.n_actions,
        }
        arrays |= described.arrays
    if geometry is not None:
        settings["maze"] = {"side": geometry.side, "base": geometry.base}
        arrays |= {"passages": geometry.passages, "transporters": geometry.transporters}
    elif world.positions is not None:
        arrays["positions"] = world.positions
    return settings, arrays


def load_world(
    path: str | os.PathLike[str],
    prior: Prior | None = None,
    *,
    start: Any = None,
    terminal: Iterable[Any] | None = None,
    possible: Any = None,
    name: str | None = None,
) -> World:
    """Read a world from an .npz written by `World.save`, or from a .csv or .parquet table of edges `s, a, s_next, p`.

    Parameters
    ----------
    path : str or path-like
        The file; its suffix determines the format.
    prior : Prior or None
        Prior of an explorer, instead of that in the file. A table contains none.
    start, terminal, possible, name : object
        Arguments of `World`, instead of those in the file. A table contains none of them. It needs no lines for a
        terminal state, or for an action that is not possible.

    Returns
    -------
    World
        World in the file.

    Raises
    ------
    ValueError
        If the file is damaged or does not contain a world. The message contains the line of a table.
    """
    if _suffix(path) != ".npz":
        edges = read_edges(path, terminal, possible, prior)
        world_name = Path(path).stem if name is None else name
        parts: dict[str, Any] = {"states": edges.states, "actions": edges.actions, "start": start, "terminal": terminal}
        return World(edges.rows, prior, name=world_name, possible=possible, **parts)
    with open(path, "rb") as file:
        try:
            world = deserialize_world(*read_archive(file, "world", (FORMAT,)))
        except UnsupportedFormatError as other:
            raise ValueError(
                f"{os.fspath(path)} has format {other.version}; this version of berlyne reads format {FORMAT}"
            ) from None
        except Exception as error:  # a damaged file can raise any exception
            raise ValueError(f"{os.fspath(path)} is not a world saved by berlyne, or it is damaged") from error
    arguments = {"prior": prior, "start": start, "terminal": terminal, "possible": possible, "name": name}
    changes = {part: value for part, value in arguments.items() if value is not None}
    return world.replace(**changes) if changes else world


def _suffix(path: str | os.PathLike[str]) -> str:
    """Return the suffix of a path, or raise `ValueError` if it is not that of a world."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(f"{os.fspath(path)} ends in {suffix!r}; the file of a world must end in {', '.join(SUFFIXES)}")
    return suffix


def deserialize_world(settings: dict[str, Any], arrays: dict[str, Any]) -> World:
    """Create a world from settings and arrays, the inverse of `serialize_world`."""
    n_states, n_actions = settings["n_states"], settings["n_actions"]
    rows = Rows(n_actions, n_states, *(arrays[name] for name in ("indptr", "indices", "data")))
    states = labels_from_json(settings["states"])
    label = range(n_states) if states is None else states
    start = arrays.get("start") if settings["start"] is None else label[settings["start"]]
    world = World(
        rows,
        _prior(settings, arrays, rows),
        start=start,
        name=str(settings["name"]),
        positions=_geometry(settings["maze"], arrays, n_states) if "maze" in settings else arrays.get("positions"),
        states=states,
        actions=labels_from_json(settings["actions"]),
        terminal=[label[s] for s in settings["terminal"]],
        possible=arrays.get("allowed"),
        horizon=settings.get("horizon"),
        marks={label[s]: mark for s, mark in settings.get("marks", ())},
    )
    return world.with_measured(settings.get("measured", "reachable"))


def _prior(settings: dict[str, Any], arrays: dict[str, Any], rows: Rows) -> Prior | None:
    """Create the prior of a saved world, or None if it has none."""
    if "prior" not in settings:
        return None
    shared: dict[str, Any] = {"support_indptr": rows.indptr, "support_indices": rows.indices}
    if all(name in arrays and np.array_equal(arrays[name], shared[name]) for name in shared):
        arrays = arrays | shared  # share the arrays, so that values derived from them are computed once
    return prior_from_description(settings["prior"], arrays)


def _geometry(maze: dict[str, Any], arrays: dict[str, Any], n_states: int) -> Geometry:
    """Create the geometry of a saved maze."""
    passages, transporters = arrays["passages"], arrays["transporters"]
    side, base = int(maze["side"]), int(maze["base"])
    valid = all(array.shape == (side * side, 4) and array.dtype == bool for array in (passages, transporters))
    if not valid or side * side != n_states or not 0 <= base < n_states:
        raise ValueError("the walls do not match the world")
    return Geometry(side, passages, transporters, base, destinations(side, passages, transporters, base))
