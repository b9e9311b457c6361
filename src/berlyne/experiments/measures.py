"""Measures of an exploration, by name: the standard ones, optional ones, and custom ones."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.experiments.worlds import SettingsError, WorldClass
from berlyne.validation import OWN_MEASURE, FloatArray

if TYPE_CHECKING:
    from berlyne.exploration.run import Run

Dims = tuple[str, ...]

RESERVED_NAMES = (
    "area", "state", "action", "next_state", "counts",
    "world", "world_class", "strategy", "time", "snapshot", "transition",
)  # fmt: skip
"""Names of arrays in a store besides those of `MEASURES`. A custom measure cannot have any of these names."""
KNOWN_DIMS = ("time", "step", "snapshot", "a", "s", "s_next")
"""Dimensions with known sizes: times 0..n_steps, steps, snapshots, actions, states, next states."""
DEFAULT_MEANING = "a user-defined measure"
EXPECTED_MISSING = "expected_missing_information"
"""The learning curve of environments without a transition table, whose missing information is unknown."""


@dataclass(frozen=True)
class Measure:
    """A quantity of a run, computed by `of(run)`.

    Parameters
    ----------
    name : str
        Name of the measure, an identifier.
    of : callable
        Function of a `Run` that returns numbers. In an environment without a transition table, `Run.world` is None.
    units : str
        Units of the values.
    meaning : str
        Description of the values.
    dims : tuple of str or None
        A label for each axis of the values, in addition to world and strategy. `KNOWN_DIMS` have the sizes of the run;
        snapshots are in the order of `run.snapshots`. Any other label is a new dimension, whose size is that in the
        first worlds. If None, the measure is one number, or one for each time 0..n_steps, as in the first exploration.
    """

    name: str
    of: Callable[[Any], Any]
    units: str = ""
    meaning: str = DEFAULT_MEANING
    dims: Dims | None = ("time",)


def states_visited(run: Run) -> FloatArray:
    """Number of distinct states visited up to each time, (n_steps + 1,)."""
    return _distinct_so_far(run.states)


def rows_tried(run: Run) -> FloatArray:
    """Number of distinct pairs of action and state tried up to each time, (n_steps + 1,)."""
    rows = run.actions.astype(np.int64) * run.labels[0].size + run.states[: run.n_steps]
    return np.concatenate([[0.0], _distinct_so_far(rows)])


def visits(run: Run) -> FloatArray:
    """Number of times that each action was taken in each state, (M, N)."""
    states, actions = run.labels
    n_taken = np.zeros((actions.size, states.size))
    np.add.at(n_taken, (run.actions, run.states[: run.n_steps]), 1.0)
    return n_taken


def _true_curve(name: str) -> Callable[[Any], FloatArray]:
    """Return a function that reads a curve which depends on the true world; NaN if the world is unknown."""
    return lambda run: getattr(run, name, np.full(run.n_steps + 1, np.nan))


def _distinct_so_far(values: Any) -> FloatArray:
    is_first = np.zeros(len(values))
    is_first[np.unique(values, return_index=True)[1]] = 1.0
    return np.asarray(np.cumsum(is_first))


MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (
        Measure("missing_information", _true_curve("missing_information"), "bits", "divergence of the model (Eq. 2)"),
        Measure("l1_distance", _true_curve("l1_distance"), "1", "L1 distance of the model (Fig. S4)"),
    )
}
"""Standard measures, which every experiment stores unless it names others. If you add a measure here, new stores hold
it in single precision. Stores without it can still be read, but not resumed."""

OPTIONAL_MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (
        Measure("states_visited", states_visited, "1", "different states met so far"),
        Measure("rows_tried", rows_tried, "1", "different pairs of action and state tried so far"),
        Measure(
            EXPECTED_MISSING,
            lambda run: run.expected_missing_information,
            "bits",
            "missing information as the explorer expects it",
        ),
        Measure("visits", visits, "1", "how often each action was taken in each state", ("a", "s")),
    )
}
"""Measures that are stored if an experiment names them. A store treats them like custom measures."""


def is_measure_name(name: Any) -> bool:
    """Whether a custom measure may have this name."""
    return isinstance(name, str) and name.isidentifier() and name not in RESERVED_NAMES and name not in MEASURES


def is_dim_name(name: Any) -> bool:
    """Whether a dimension of a measure may have this name."""
    return name in KNOWN_DIMS or (isinstance(name, str) and is_measure_name(name) and name != "run")


def parse_measures(measures: Any, has_snapshots: bool) -> tuple[tuple[str, ...], dict[str, Measure]]:
    """Parse the `measures` of an experiment.

    Parameters
    ----------
    measures : mapping, str or list
        A mapping adds to the standard measures. A list names all measures to store.
    has_snapshots : bool
        Whether the experiment has snapshots.

    Returns
    -------
    standard : tuple of str
        Names of the measures in `MEASURES` to store.
    custom : dict of str to Measure
        All other measures.

    Raises
    ------
    SettingsError
        If `measures` is invalid.
    """
    if isinstance(measures, Mapping):
        standard, custom = tuple(MEASURES), {name: _custom_measure(name, value) for name, value in measures.items()}
    elif isinstance(measures, str | list | tuple):
        standard, custom = _listed_measures([measures] if isinstance(measures, str) else list(measures))
    else:
        raise SettingsError(
            f"measures is {measures!r}; it must be a list of names, or a mapping from names to functions of a run"
            f"{OWN_MEASURE}"
        )
    for name, measure in custom.items():
        if "snapshot" in (measure.dims or ()) and not has_snapshots:
            raise SettingsError(f"measures.{name}: needs snapshots, but the study has none; set snapshots=")
    clashes = sorted(custom.keys() & {dim for measure in custom.values() for dim in measure.dims or ()})
    if clashes:
        raise SettingsError(f"measures.{clashes[0]} is also the name of a dimension; rename one of them")
    return standard, custom


def resolve_custom_measures(classes: Iterable[WorldClass], custom: dict[str, Measure]) -> dict[str, Measure]:
    """Return all measures besides the standard ones that a study of these classes stores.

    Raises
    ------
    SettingsError
        If a measure cannot be computed for one of the classes.
    """
    for kind in classes:
        for measure in custom.values() if kind.no_table else ():
            dims = set(measure.dims or ())
            if "snapshot" in dims or (kind.discovers_states and dims & {"s", "s_next"}):
                reason = "no snapshots are stored for it" if "snapshot" in dims else "its states are unknown"
                raise SettingsError(
                    f"measures.{measure.name}: cannot be computed for worlds.{kind.name}, an environment without a "
                    f"transition table, because {reason}; leave the measure out"
                )
    if not any(kind.no_table for kind in classes):
        return custom
    if custom.get(EXPECTED_MISSING, OPTIONAL_MEASURES[EXPECTED_MISSING]) is not OPTIONAL_MEASURES[EXPECTED_MISSING]:
        raise SettingsError(
            f"measures.{EXPECTED_MISSING} is always stored for environments; your own measure needs another name"
        )
    return {EXPECTED_MISSING: OPTIONAL_MEASURES[EXPECTED_MISSING], **custom}


def _listed_measures(measures: list[Any]) -> tuple[tuple[str, ...], dict[str, Measure]]:
    custom, known = {}, {**MEASURES, **OPTIONAL_MEASURES}
    names = [value.name if isinstance(value, Measure) else value for value in measures]
    for i, (name, value) in enumerate(zip(names, measures, strict=True)):
        if isinstance(value, Measure):
            custom[name] = _custom_measure(name, value)
        elif not isinstance(value, str) or value not in known:
            near = difflib.get_close_matches(str(value), known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"the measures are {', '.join(known)}{OWN_MEASURE}"
            raise SettingsError(f"measures[{i}]: unknown measure {value!r}; {hint}")
        elif value in OPTIONAL_MEASURES:
            custom[value] = OPTIONAL_MEASURES[value]
    if len(set(names)) < len(names):
        raise SettingsError("measures contains a name twice; list each measure once")
    return tuple(name for name in MEASURES if name in names), custom


def _custom_measure(name: Any, value: Any) -> Measure:
    """Parse a custom measure: a `Measure`, a function, or a pair of dims and function."""
    if isinstance(value, Measure):
        measure = replace(value, name=name)
    elif isinstance(value, tuple) and len(value) == 2:
        dims = (value[0],) if isinstance(value[0], str) else value[0]
        measure = Measure(name, value[1], dims=dims)
    else:
        measure = Measure(name, value, dims=None)
    if not (is_measure_name(name) and callable(measure.of)):
        raise SettingsError(
            f"measures.{name}: the name must be a new identifier, and the value a function of a run or a pair of dims "
            "and function, such as (('a', 's'), function)"
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


def evaluate_measure(measure: Measure, run: Run) -> FloatArray:
    """Evaluate a custom measure; raise a ValueError if it fails or does not return numbers."""
    try:
        values = measure.of(run)
    except Exception as error:
        raise ValueError(f"measures.{measure.name}: raised {type(error).__name__}: {error}") from error
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"measures.{measure.name}: returned {values!r:.60}; it must return numbers") from None


def check_shape(measure: Measure, shape: tuple[int, ...], max_shape: tuple[int, ...], run: Run) -> None:
    """Raise a ValueError if values do not have the axes of the measure, or are larger than `max_shape` in the store."""
    dims = measure.dims or ()
    labels = f"({', '.join(dims)})"
    if len(shape) != len(dims):
        raise ValueError(f"measures.{measure.name}: returned shape {shape}; it must have an axis for each of {labels}")
    n_states, n_actions = (names.size for names in run.labels)
    known_sizes = dim_sizes(n_states, n_actions, run.n_steps + 1) | {"snapshot": len(run.snapshots)}
    for dim, size, max_size in zip(dims, shape, max_shape, strict=True):
        expected = known_sizes.get(dim, size)
        if size != expected:
            raise ValueError(
                f"measures.{measure.name}: returned shape {shape} for {labels}; the size of {dim} must be {expected}"
            )
        if size > max_size:
            raise ValueError(
                f"measures.{measure.name}: returned shape {shape} for {labels}, and the store has room for "
                f"{max_shape}; the first worlds of a class must return the largest shape"
            )


def dim_sizes(n_states: int, n_actions: int, n_times: int) -> dict[str, int]:
    """Return the sizes of `KNOWN_DIMS` except snapshots."""
    return {"time": n_times, "step": n_times - 1, "a": n_actions, "s": n_states, "s_next": n_states}
