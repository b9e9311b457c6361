"""What is measured of an exploration, by name: the usual measures, some on request, and a user's own."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.experiments.worlds import SettingsError, WorldClass
from berlyne.exploration.replay import expected_missing_curve
from berlyne.validation import OWN_MEASURE, FloatArray, IndexArray

if TYPE_CHECKING:
    from berlyne.exploration.env_run import EnvRun
    from berlyne.exploration.run import Run

Dims = tuple[str, ...]

TAKEN = (
    "area", "state", "action", "next_state", "counts",
    "world", "world_class", "strategy", "time", "snapshot", "transition",
)  # fmt: skip
"""Names in the store beside those of `MEASURES`, which a measure of one's own cannot have either."""
KNOWN_DIMS = ("time", "step", "snapshot", "a", "s", "s_next")
"""Dimensions whose sizes are known: times 0..n_steps, steps, snapshots, actions, states, next states."""
DEFAULT_MEANING = "a measure of one's own"
EXPECTED_MISSING = "expected_missing_information"
"""What is kept of environments that show no transition table, of which nobody knows what is missing."""


@dataclass(frozen=True)
class Measure:
    """A quantity of a run, `of(run)`; in an environment that shows no transition table the run is an `EnvRun`.

    dims : a label for each axis of its values, in addition to world and strategy. `KNOWN_DIMS` have the sizes
        of the run, where snapshots are those of `run.snapshots`, in its order; any other label is a dimension of
        one's own, as long as in the first worlds. None: a number, or one for each time 0..n_steps, whichever the
        first exploration gives.
    """

    name: str
    of: Callable[[Any], Any]
    units: str = ""
    meaning: str = DEFAULT_MEANING
    dims: Dims | None = ("time",)


def state_path(run: Run | EnvRun) -> IndexArray:
    """The state in which each action was taken, and the last one reached, (n_steps + 1,)."""
    whole = len(run.states) > run.n_steps
    return run.states if whole else np.append(run.states, run.next_states[-1])


def sizes(run: Run | EnvRun) -> tuple[int, int]:
    """Numbers of states and of actions, as far as they are known."""
    known: Any = getattr(run, "world", None) or run.explorer  # type: ignore[union-attr]  # of an `EnvRun`
    return known.n_states, known.n_actions


def states_visited(run: Run | EnvRun) -> FloatArray:
    """How many different states the path has met up to each time, (n_steps + 1,)."""
    return _distinct_so_far(state_path(run))


def rows_tried(run: Run | EnvRun) -> FloatArray:
    """How many different pairs of action and state were tried up to each time, (n_steps + 1,)."""
    rows = run.actions.astype(np.int64) * sizes(run)[0] + run.states[: run.n_steps]
    return np.concatenate([[0.0], _distinct_so_far(rows)])


def visits(run: Run | EnvRun) -> FloatArray:
    """How often each action was taken in each state, (M, N)."""
    n_states, n_actions = sizes(run)
    taken = np.zeros((n_actions, n_states))
    np.add.at(taken, (run.actions, run.states[: run.n_steps]), 1.0)
    return taken


def expected_missing_information(run: Run | EnvRun) -> FloatArray:
    """What an explorer with the prior of the world, led along the run, expects to be missing: bits, (n_steps + 1,)."""
    if not hasattr(run, "world"):
        return run.expected_missing_information
    return expected_missing_curve(run.world, run)


def _true(name: str) -> Callable[[Any], FloatArray]:
    """A curve that the truth tells; NaN where nobody knows it."""
    return lambda run: getattr(run, name, np.full(run.n_steps + 1, np.nan))


def _distinct_so_far(values: Any) -> FloatArray:
    first = np.zeros(len(values))
    first[np.unique(values, return_index=True)[1]] = 1.0
    return np.asarray(np.cumsum(first))


MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (
        Measure("missing_information", _true("missing_information"), "bits", "divergence of the model (Eq. 2)"),
        Measure("l1_distance", _true("l1_distance"), "1", "L1 distance of the model (Fig. S4)"),
    )
}
"""The measures that every experiment keeps, unless it names others. One more here is stored in single precision from
then on, by new stores: one that was made without it is read as it is, and cannot be gone on with."""

OPTIONAL_MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (
        Measure("states_visited", states_visited, "1", "different states met so far"),
        Measure("rows_tried", rows_tried, "1", "different pairs of action and state tried so far"),
        Measure(
            EXPECTED_MISSING, expected_missing_information, "bits", "missing information as the explorer expects it"
        ),
        Measure("visits", visits, "1", "how often each action was taken in each state", ("a", "s")),
    )
}
"""Measures that are kept on request, by name. In a store they are like a user's own."""


def is_measure_name(name: Any) -> bool:
    """Whether a measure of one's own may have this name."""
    return isinstance(name, str) and name.isidentifier() and name not in TAKEN and name not in MEASURES


def is_dim_name(name: Any) -> bool:
    """Whether a dimension of a measure may have this name."""
    return name in KNOWN_DIMS or (isinstance(name, str) and is_measure_name(name) and name != "run")


def parse_measures(given: Any, has_snapshots: bool) -> tuple[tuple[str, ...], dict[str, Measure]]:
    """Which of `MEASURES` to keep, and which others, from what `measures` of an experiment says.

    A mapping adds to the usual ones. A list names all that are to be kept.
    """
    if isinstance(given, Mapping):
        kept, own = tuple(MEASURES), {name: _own(name, said) for name, said in given.items()}
    elif isinstance(given, str | list | tuple):
        kept, own = _listed([given] if isinstance(given, str) else list(given))
    else:
        raise SettingsError(
            f"measures: is {given!r}; it must list names, or map names to functions of a run{OWN_MEASURE}"
        )
    for name, measure in own.items():
        if "snapshot" in (measure.dims or ()) and not has_snapshots:
            raise SettingsError(f"measures.{name}: has a value for each snapshot, and there are no snapshots")
    clash = sorted(own.keys() & {dim for measure in own.values() for dim in measure.dims or ()})
    if clash:
        raise SettingsError(f"measures.{clash[0]}: is the name of a dimension too; one of them needs another name")
    return kept, own


def resolve_custom_measures(classes: Iterable[WorldClass], own: dict[str, Measure]) -> dict[str, Measure]:
    """Measures other than the usual ones that a study of these classes keeps; an error if one of them cannot be."""
    for kind in classes:
        for measure in own.values() if kind.no_table else ():
            dims = set(measure.dims or ())
            if "snapshot" in dims or (kind.discovers_states and dims & {"s", "s_next"}):
                what = "snapshot, which are not kept of" if "snapshot" in dims else "state, and nobody knows those of"
                raise SettingsError(
                    f"measures.{measure.name}: has a value for each {what} worlds.{kind.name}, an environment that "
                    "shows no transition table; leave it out"
                )
    if not any(kind.no_table for kind in classes):
        return own
    if own.get(EXPECTED_MISSING, OPTIONAL_MEASURES[EXPECTED_MISSING]) is not OPTIONAL_MEASURES[EXPECTED_MISSING]:
        raise SettingsError(
            f"measures.{EXPECTED_MISSING}: is kept of environments anyway; one of your own needs another name"
        )
    return {EXPECTED_MISSING: OPTIONAL_MEASURES[EXPECTED_MISSING], **own}


def _listed(given: list[Any]) -> tuple[tuple[str, ...], dict[str, Measure]]:
    own, known = {}, {**MEASURES, **OPTIONAL_MEASURES}
    named = [said.name if isinstance(said, Measure) else said for said in given]
    for i, (name, said) in enumerate(zip(named, given, strict=True)):
        if isinstance(said, Measure):
            own[name] = _own(name, said)
        elif not isinstance(said, str) or said not in known:
            near = difflib.get_close_matches(str(said), known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}{OWN_MEASURE}"
            raise SettingsError(f"measures[{i}]: there is no measure {said!r}; {hint}")
        elif said in OPTIONAL_MEASURES:
            own[said] = OPTIONAL_MEASURES[said]
    if len(set(named)) < len(named):
        raise SettingsError("measures: no measure may be named twice")
    return tuple(name for name in MEASURES if name in named), own


def _own(name: Any, said: Any) -> Measure:
    if isinstance(said, Measure):
        measure = replace(said, name=name)
    elif isinstance(said, tuple) and len(said) == 2:
        dims = (said[0],) if isinstance(said[0], str) else said[0]
        measure = Measure(name, said[1], dims=dims)
    else:
        measure = Measure(name, said, dims=None)
    if not (is_measure_name(name) and callable(measure.of)):
        raise SettingsError(
            f"measures.{name}: must be a new name (an identifier) and a function of a run, alone or after its dims "
            "as in (('a', 's'), function)"
        )
    if measure.dims is None:
        return measure
    dims = tuple(measure.dims) if isinstance(measure.dims, Iterable) else ()
    if not all(map(is_dim_name, dims)) or len(set(dims)) < len(dims) or not isinstance(measure.dims, tuple | list):
        raise SettingsError(
            f"measures.{name}: has dims {measure.dims!r}; they must be different labels, such as "
            f"{', '.join(KNOWN_DIMS)}, or new identifiers"
        )
    return replace(measure, dims=dims)


def evaluate_measure(measure: Measure, run: Run | EnvRun) -> FloatArray:
    """What a measure of the user's own gives of a run, which must be numbers."""
    try:
        given = measure.of(run)
    except Exception as error:
        raise ValueError(f"measures.{measure.name}: raised {type(error).__name__}: {error}") from error
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"measures.{measure.name}: gave {given!r:.60}; it must give numbers") from None


def check_shape(measure: Measure, shape: tuple[int, ...], room: tuple[int, ...], run: Run | EnvRun) -> None:
    """A ValueError if values do not have the axes that the measure says, or more than there is room for."""
    dims = measure.dims or ()
    labels = f"({', '.join(dims)})"
    if len(shape) != len(dims):
        raise ValueError(f"measures.{measure.name}: gave shape {shape}; it must have an axis for each of {labels}")
    known = dim_sizes(*sizes(run), run.n_steps + 1) | {"snapshot": len(getattr(run, "snapshots", ()))}
    for dim, n, most in zip(dims, shape, room, strict=True):
        wanted = known.get(dim, n)
        if n != wanted:
            raise ValueError(f"measures.{measure.name}: gave shape {shape} for {labels}; {dim} must be {wanted} long")
        if n > most:
            raise ValueError(
                f"measures.{measure.name}: gave shape {shape} for {labels}, and the store has room for {room}; the "
                "first worlds of a class must give as many as any"
            )


def dim_sizes(n_states: int, n_actions: int, n_times: int) -> dict[str, int]:
    """How long axes are whose labels are known."""
    return {"time": n_times, "step": n_times - 1, "a": n_actions, "s": n_states, "s_next": n_states}
