"""What a user hands in as a world: a `World`, an environment or its name; and what tells one from another."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from berlyne.arrays import FloatArray
from berlyne.experiments.untabled import Again, Untabled, again_like
from berlyne.priors import KINDS, OneTwoThree
from berlyne.priors.prior import grows
from berlyne.rows import Rows
from berlyne.tabled import NoTableError, from_gymnasium, is_environment, made
from berlyne.worlds import World
from berlyne.worlds.classes import WORLDS

Place = World | Untabled
"""What is explored."""


def as_world(source: Any, again: Again | None = None) -> Place | None:
    """What is explored where an object is given: a world, or an environment as the world that its table shows.

    An environment without a table is acted in; `again` gives it once more, by default one like it. None for others.
    """
    if isinstance(source, World | Untabled) or not is_environment(source):
        return source if isinstance(source, World | Untabled) else None
    try:
        return from_gymnasium(source)
    except NoTableError:
        return Untabled.of(again or again_like(source))


def given_worlds(source: Any) -> tuple[Place, ...]:
    """The worlds that a user hands in as such, one or a list of them; none if it is something else."""
    one = as_world(source)
    if one is not None:
        return (one,)
    listed = [as_world(each) for each in source] if isinstance(source, Sequence) else []
    found = tuple(world for world in listed if world is not None)
    return found if len(found) == len(listed) else ()


def made_by_name(source: Any) -> Any:
    """What is given, with the environments of Gymnasium for their names."""
    if isinstance(source, list | tuple):
        return [made_by_name(each) for each in source]
    if not isinstance(source, str):
        return source
    try:
        return made(source)
    except ValueError:
        raise
    except Exception as error:  # Gymnasium has errors of its own
        kind = f"; a class of worlds is said as {{'kind': {source!r}}}" if source in WORLDS else ""
        raise ValueError(f"Gymnasium cannot make {source!r}: {str(error).rstrip('.')}{kind}") from None


def _answers(prior: Any, rows: Rows) -> list[FloatArray]:
    """What tells a prior that does not describe itself from others of its class: what it estimates from two tables.

    One is of nothing, the other of each possible transition once.
    """
    if grows(prior):
        nothing = np.zeros((rows.n_actions, 3, 3), dtype=np.int64)
        return [np.asarray(prior.sized(3, rows.n_actions).estimate(nothing), dtype=float)]
    once = (rows.dense() > 0).astype(np.int64)
    return [np.asarray(prior.estimate(counts), dtype=float) for counts in (np.zeros_like(once), once)]


def fingerprint(world: Place) -> str:
    """What tells one world from another: its transition rows, its prior, its start and where it ends."""
    if isinstance(world, Untabled):
        return world.fingerprint
    rows = world.rows
    prior: Any = world.prior
    assumed: Any = type(prior).__qualname__
    arrays = [rows.indptr, rows.indices, rows.data]
    if isinstance(prior, OneTwoThree):  # as stores of format 2 have it
        assumed = repr(prior)
    elif hasattr(prior, "describe"):
        said = prior.describe()
        support = getattr(prior, "support", None)  # none where states are discovered
        own = () if type(prior) in KINDS.values() else said.arrays.values()  # ours describe their support by arrays
        told = [*own, *(() if support is None else support.entries())]
        assumed, arrays = (said.kind, *said.parameters.values()), [*arrays, *told]
    elif prior is not None:
        arrays = [*arrays, *_answers(prior, rows)]
    start: Any = world.start
    if isinstance(start, np.ndarray):
        start, arrays = "drawn", [*arrays, start]
    if len(world.terminal):
        arrays = [*arrays, world.terminal]
    digest = hashlib.sha256(repr((rows.n_actions, rows.n_states, start, assumed)).encode())
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]
