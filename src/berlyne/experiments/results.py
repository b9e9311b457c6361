"""Read results: the labelled dataset, a tidy frame, and a summary in words. Nothing here runs anything."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.experiments.measures import EXPECTED_MISSING
from berlyne.experiments.schema import FORMAT, check_same_settings, n_positions, read_root
from berlyne.labels import as_list
from berlyne.plotting import HtmlReprMixin, figures_package
from berlyne.serialization import StoreError
from berlyne.sparse import Counts
from berlyne.validation import FloatArray

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from berlyne.experiments.spec import Experiment
    from berlyne.exploration.run import Run
    from berlyne.labels import Labels
    from berlyne.worlds import World


MISSING = "missing_information"


class Results(HtmlReprMixin):
    """Stored results of a study.

    Attributes
    ----------
    dataset : `missing_information`, `l1_distance`, `area`, paths and counts over `world`, `strategy`, `time`;
        worlds in the order of their classes, and the runs in a world one after another. Arrays are read
        from disk when they are needed. What is not explored yet, and times behind the end of a run, are NaN.
    settings : what was run.
    experiment : the study itself, if it is known; it makes worlds and strategies of a user's own.
    """

    def __init__(
        self,
        path: Path,
        dataset: xr.Dataset,
        settings: dict[str, Any],
        store_format: int = FORMAT,
        experiment: Experiment | None = None,
    ) -> None:
        self.path, self.dataset, self.settings, self._format = path, dataset, settings, store_format
        self.experiment = experiment
        self._labels: dict[str, tuple[Labels, Labels] | None] = {}

    def __repr__(self) -> str:
        done, asked = int(self.dataset["area"].notnull().sum()), self.dataset["area"].size
        note = f"; {self.unchecked}" if self.unchecked else ""
        return f"Results({self.path.name}: {', '.join(self.classes)}; {done:,} of {asked:,} explorations{note})"

    def renamed(self, names: Mapping[str, str]) -> Results:
        """The same with other names for some strategies."""
        labels = [names.get(name, name) for name in self.strategies]
        relabelled = self.dataset.assign_coords(strategy=labels)
        return Results(self.path, relabelled, self.settings, self._format, self.experiment)

    @property
    def unchecked(self) -> str:
        """What a store of an older format cannot tell; empty for one of today."""
        if self._format == FORMAT:
            return ""
        return (
            f"format {self._format} has no checksum of settings and does not tell whether chunks are in their "
            "places; running the study again adds both"
        )

    @property
    def classes(self) -> list[str]:
        """Classes of worlds, in the order of the study."""
        return list(self.settings["worlds"])

    @property
    def strategies(self) -> list[str]:
        """Names of the strategies, in order."""
        return [str(name) for name in self.dataset["strategy"].values]

    @property
    def is_complete(self) -> bool:
        """Whether every exploration is there."""
        return bool(self.dataset["area"].notnull().all())

    def has_no_table(self, world_class: str) -> bool:
        """Whether a class holds environments that show no transition table, so that nobody knows what is missing."""
        return bool(self.settings["worlds"][self._class(world_class)].get("no table", False))

    def _class(self, world_class: str) -> str:
        if world_class not in self.classes:
            raise ValueError(f"there is no class {world_class!r} in {self.path}; there are {', '.join(self.classes)}")
        return world_class

    def _curve(self, world_class: str) -> str:
        """The measure that is the learning curve of a class."""
        return EXPECTED_MISSING if self.has_no_table(world_class) else MISSING

    def of(self, world_class: str) -> xr.Dataset:
        """The dataset of one class, its time axis as long as its runs.

        If all its worlds are a user's own and call their states and actions alike, arrays over these (`a`, `s`,
        `s_next`, and `transition` of counts) have labels as coordinates. Paths hold numbers; `to_frame` has labels.
        """
        n_steps = self.settings["worlds"][self._class(world_class)]["n_steps"]
        where = np.flatnonzero(self.dataset["world_class"].values == world_class)
        found = self.dataset.isel(world=where, time=slice(0, n_steps + 1))
        if not set(found.dims) & {"a", "s", "s_next", "transition"}:
            return found
        from berlyne.experiments.reading import assign_labels

        labels = self.labels(world_class)
        return found if labels is None else assign_labels(found, labels)

    def labels(self, world_class: str) -> tuple[Labels, Labels] | None:
        """The labels of states and of actions that all worlds of a class share; None for numbers."""
        from berlyne.experiments.reading import shared_labels

        if world_class not in self._labels:
            self._labels[world_class] = shared_labels(self, world_class)
        return self._labels[world_class]

    def curves(self, world_class: str, measure: str | None = None, strategies: list[str] | None = None) -> xr.Dataset:
        """Mean learning curve and its standard error, `mean` and `sem` (strategy, time).

        measure : by default `missing_information`; of environments that show no transition table, of which nobody
            knows it, `expected_missing_information`.

        The error is that over worlds, each of which counts with the mean of its runs; with one world, over its runs.
        """
        values = self.by_world(world_class, measure)
        return _mean(values if strategies is None else values.sel(strategy=self._named(strategies)))

    def ends(self, world_class: str, measure: str | None = None) -> xr.Dataset:
        """The last point of the learning curves, `mean` and `sem` (strategy,)."""
        return _mean(self.by_world(world_class, measure).isel(time=-1))

    def by_world(self, world_class: str, measure: str | None = None) -> xr.DataArray:
        """What was measured, each world once, with the mean of its runs; of one world, each of its runs."""
        return _by_world(self._measured(world_class, measure).astype(float), self.settings["n_worlds"])

    def areas(self, world_class: str) -> xr.DataArray:
        """Area under each learning curve, in bits, (world, strategy); its measure is that of `curves` by default."""
        return self.of(world_class)["area"]

    def ranks(self, world_class: str, strategies: list[str] | None = None) -> xr.DataArray:
        """Rank of each strategy in each world by area, 1 for the least, (world, strategy)."""
        from scipy.stats import rankdata

        areas = self.areas(world_class)
        if strategies is not None:
            areas = areas.sel(strategy=self._named(strategies))
        return areas.copy(data=rankdata(areas.values, axis=1))

    def history(self, world: str, strategy: str) -> Any:
        """The path of one exploration: (n_steps, 3) lines (s, a, s_next) of numbers; `run(...).history` has labels."""
        world, strategy = self._check("world", world), self._check("strategy", strategy)
        run = self.dataset.sel(world=world, strategy=strategy)
        if np.isnan(run["area"].item()):
            raise ValueError(f"{strategy} has not explored {world} yet; run the study again to go on")
        n_steps = self.n_steps(world)
        states, outcomes = run["state"].values[: n_steps + 1], run["next_state"].values[:n_steps]
        s_next = np.where(np.isnan(outcomes), states[1:], outcomes)
        return np.stack([states[:-1], run["action"].values[:n_steps], s_next], axis=1).astype(np.int64)

    def n_steps(self, world: str) -> int:
        """How long a world was explored."""
        return int(self.settings["worlds"][self._check("world", world).split("/")[0]]["n_steps"])

    def world(self, world: str) -> World:
        """The world of an id such as "maze/017", or of a run in it, the very same: drawn again, or read.

        Those of your own are read, with their labels. A prior of your own is not kept; asked for anything, it says so.
        """
        from berlyne.experiments.reading import restore_world

        return restore_world(self, world)

    def run(self, world: str, strategy: str) -> Run:
        """One exploration, put together from what is stored of it; nothing is run.

        Path and counts are exact, the curves have the single precision of the store; one that is not kept is NaN.
        """
        from berlyne.experiments.reading import restore_run

        return restore_run(self, self._check("world", world), self._check("strategy", strategy))

    def to_frame(self, measures: str | Sequence[str] | None = None, world_class: str | None = None) -> pd.DataFrame:
        """A tidy pandas frame: a line for each world, strategy and time, and a column for each measure.

        Parameters
        ----------
        measures : names of arrays that have the same dimensions, which then have a line for each of their values
            (`"area"`: a line for each exploration); by default all over time, and the path.
        world_class : only this class.

        What is not explored yet, and what is behind the end of a run, has no line. States and actions of a path are
        labels, if all worlds of their class are a user's own and have the same ones, and numbers else.
        """
        return tidy(self, measures, world_class)

    def plot(
        self,
        measure: str | None = None,
        *,
        world_class: str | None = None,
        strategies: Sequence[str] | None = None,
        ax: Any = None,
    ) -> Any:
        """Draw mean curves with bands of one standard error, one panel per class; as `curves` has them.

        ax : where to draw, an `Axes`, or one for each class. Returns the `Axes`, or a list of them.
        """
        classes = self.classes if world_class is None else [world_class]
        names = self.strategies if strategies is None else self._named(strategies)
        shown = {name: measure or self._curve(name) for name in classes}
        curves = {name: self.curves(name, what, names) for name, what in shown.items()}
        units = str(self.dataset[shown[classes[0]]].attrs.get("units", ""))
        drawn = figures_package().draw_bands(curves, shown, units, ax)
        return drawn[0] if len(drawn) == 1 else drawn

    def _measured(self, world_class: str, measure: str | None) -> xr.DataArray:
        """A measure over time in one class, by default its learning curve."""
        there, measure = self.of(world_class), measure or self._curve(world_class)
        if measure not in there or there[measure].dims != ("world", "strategy", "time"):
            over_time = [name for name in map(str, there) if there[name].dims == ("world", "strategy", "time")]
            over_time = [name for name in over_time if name not in ("state", "action", "next_state")]
            raise ValueError(
                f"there is no measure {measure!r} over time in {self.path}; there are {', '.join(over_time) or 'none'}"
            )
        return there[measure]

    def _named(self, strategies: Any) -> list[str]:
        """Names of several strategies, each of which is here."""
        return [self._check("strategy", one) for one in as_list("strategies", strategies)]

    def _check(self, dim: str, label: Any) -> str:
        """The name of a world or of a strategy, which may be given itself, that is here."""
        name, there = str(label), self.dataset[dim].values.tolist()
        if name not in there:
            near = difflib.get_close_matches(name, there, n=1, cutoff=0.0)
            raise ValueError(f"there is no {dim} {name!r} in {self.path}; the nearest is {(near or there)[0]!r}")
        return name

    def counts(self, world: str, strategy: str, n_steps: int, n_states: int, n_actions: int) -> Counts:
        """Transitions observed in the first `n_steps` of one exploration, from its path."""
        s, a, s_next = self.history(world, strategy)[:n_steps].T
        for name, numbers, given in (("n_states", (s, s_next), n_states), ("n_actions", (a,), n_actions)):
            needed = max((int(of.max()) for of in numbers if len(of)), default=-1) + 1
            if given < needed:
                raise ValueError(
                    f"{name} is {given}; {strategy} met {needed - 1} in {world}, so it must be {needed} or more"
                )
        keys, n = np.unique((s * n_actions + a) * n_states + s_next, return_counts=True)
        return Counts.from_keys(n_actions, n_states, keys, n)

    def area_ratios(self, world_class: str, over: str = "Unembodied") -> FloatArray:
        """Mean area of every strategy relative to that of another, (strategy,)."""
        areas = self.areas(world_class)
        return np.asarray((areas / areas.sel(strategy=self._check("strategy", over))).mean("world").values)


def _mean(values: xr.DataArray) -> xr.Dataset:
    """Mean and standard error over worlds."""
    sem = values.std("world", ddof=1) / np.sqrt(values.notnull().sum("world"))
    return values.mean("world").to_dataset(name="mean").assign(sem=sem)


def _by_world(values: xr.DataArray, n_worlds: int) -> xr.DataArray:
    """Means over the runs in each world, if there are several of both; else the values as they are."""
    if "run" not in values.coords or n_worlds == 1:
        return values
    ids = [str(label).rsplit("/", 1)[0] for label in values["world"].values]
    return values.assign_coords(world=ids).groupby("world").mean("world")


def open_results(path: str | os.PathLike[str], experiment: Experiment | None = None) -> Results:
    """Open stored results for reading.

    Chunks are checked as they are read: a `StoreError` names what is missing, damaged or in a wrong place.

    experiment : the study, which knows worlds and strategies of a user's own; it must be that of the store.
    """
    place = Path(path)
    if not place.is_dir():
        raise StoreError(f"there are no results at {place}")
    if experiment is not None:
        check_same_settings(place, read_root(place)["attributes"]["settings"], experiment.describe())
    return load_results(place, experiment)


def load_results(place: Path, experiment: Experiment | None) -> Results:
    """The results at a place that is a store of this study."""
    import xarray as xr

    from berlyne.experiments.reading import CheckedStore, mask_unexplored_counts

    root = read_root(place)
    settings = root["attributes"]["settings"]
    dataset = xr.open_zarr(CheckedStore(place, root), chunks=None)
    labels = {name: np.array(dataset[name].values.tolist(), dtype=str) for name in ("world", "world_class", "strategy")}
    uncounted = [name for name, said in settings["worlds"].items() if said.get("no table", False)]
    dataset = mask_unexplored_counts(dataset, uncounted).assign_coords(
        world=labels["world"], world_class=("world", labels["world_class"]), strategy=labels["strategy"]
    )
    n_classes, n_worlds = len(settings["worlds"]), settings["n_worlds"]
    index, which = np.divmod(np.arange(len(labels["world"])), n_classes)
    by_class = np.lexsort((index // n_worlds, index % n_worlds, which))
    sorted_ = dataset.isel(world=by_class)
    return Results(place, sorted_, settings, root["attributes"]["berlyne_format"], experiment)


OVER_TIME = ("world", "strategy", "time")
PATH = ("state", "action", "next_state")


def tidy(results: Results, measures: str | Sequence[str] | None, world_class: str | None) -> pd.DataFrame:
    """One line for each value that the named arrays hold; see `Results.to_frame`."""
    import pandas as pd

    names = _names(results.dataset, measures)
    classes = results.classes if world_class is None else [world_class]
    frames = [_spoken(_frame(results.of(name), names), results, name) for name in classes]
    return pd.concat(frames, ignore_index=True)


def _names(dataset: xr.Dataset, measures: str | Sequence[str] | None) -> list[str]:
    """The arrays that are asked for, which must have the same dimensions."""
    there = [str(name) for name in dataset.data_vars]
    if measures is None:
        return [name for name in there if dataset[name].dims == OVER_TIME]
    names = [measures] if isinstance(measures, str) else list(measures)
    for name in names:
        if name not in there:
            raise ValueError(f"there is no measure {name!r}; there are {', '.join(there)}")
    for name in names[1:]:
        if dataset[name].dims != dataset[names[0]].dims:
            raise ValueError(
                f"{names[0]} is over {', '.join(map(str, dataset[names[0]].dims))} and {name} over "
                f"{', '.join(map(str, dataset[name].dims))}; ask for one frame each"
            )
    if not names:
        raise ValueError("measures names none; it must name at least one")
    return names


def _frame(dataset: xr.Dataset, names: list[str]) -> pd.DataFrame:
    """The arrays in one class; a line that would hold nothing is left out."""
    some = dataset[names]
    if "next_state" in names:
        some = some.assign(next_state=_outcomes(dataset))
    dims = list(some[names[0]].dims)
    frame: Any = some.to_dataframe(dim_order=dims).reset_index()
    more = [f"transition_{dim}" for dim in ("a", "s", "s_next") if "transition" in dims]
    labels = ["world_class", "world", *(["run"] if "run" in frame else []), *dims[1:], *(n for n in more if n in frame)]
    frame = frame[[*labels, *names]].dropna(subset=names, how="all")
    return frame.astype({name: "Int64" for name in PATH if name in names})


def _spoken(frame: pd.DataFrame, results: Results, world_class: str) -> pd.DataFrame:
    """The frame with labels for the states and actions of paths, if there are any."""
    import pandas as pd

    path = [name for name in PATH if name in frame]
    labels = results.labels(world_class) if path else None
    for name in path if labels is not None else []:
        said = labels[name == "action"]  # type: ignore[index]  # None has no path here
        if said.custom is not None:
            spoken = [pd.NA if number is pd.NA else said[int(number)] for number in frame[name]]
            frame[name] = pd.Series(spoken, index=frame.index, dtype=object)
    return frame


def _outcomes(dataset: xr.Dataset) -> xr.DataArray:
    """Where actions led: what is stored for strategies that relocate, else the next state of the path."""
    stored, following = dataset["next_state"], dataset["state"].shift(time=-1)
    return stored.where(stored.notnull(), following.where(dataset["action"].notnull(), np.nan))


def summary_lines(results: Results) -> Iterator[str]:
    """What was run, of what size, with which versions, and what is stored."""
    settings, attributes = results.settings, read_root(results.path)["attributes"]
    yield repr(results)
    worlds = [f"{name} ({said['n_steps']:,} steps)" for name, said in settings["worlds"].items()]
    runs = f", {settings['n_runs']:,} runs in each" if settings.get("n_runs", 1) > 1 else ""
    yield f"worlds: {', '.join(worlds)}; {settings['n_worlds']:,} of each class{runs}"
    common = "; common random numbers" if settings.get("common_random_numbers") else ""
    yield f"seed: {settings['seed']}{common}"
    if "shard" in attributes:
        yield "shard: {} of {}".format(*attributes["shard"])
    if settings["snapshots"]:
        yield f"snapshots: {', '.join(map(str, settings['snapshots']))}"
    yield f"measures: {'; '.join(_measure(results, str(name)) for name in results.dataset.data_vars)}"
    for label, said in (("versions", attributes["versions"]), *_earlier(attributes)):
        yield f"{label}: {', '.join(f'{name} {number}' for name, number in said.items())}"


def _earlier(attributes: dict[str, list[dict[str, str]]]) -> Iterator[tuple[str, dict[str, str]]]:
    for said in attributes.get("earlier_versions", []):
        yield "earlier versions", said


def _measure(results: Results, name: str) -> str:
    array = results.dataset[name]
    dims = ", ".join(str(dim) for dim in array.dims if dim not in ("world", "strategy"))
    return f"{name} ({dims})" if dims else name


def final_rows(results: Results, world_class: str) -> Iterator[tuple[str, str, str, str, str]]:
    """For each strategy: class, name, explorations done and missing, and missing information at the end, in bits.

    The last is the mean and its standard error, as `Results.curves` has them at the last time; of environments that
    show no transition table what explorers expect to be missing, and it says so.
    """
    of_each = n_positions({**results.settings, "worlds": {world_class: {}}})
    done = results.areas(world_class).notnull().sum("world")
    expected = results.has_no_table(world_class)
    ends = results.ends(world_class) if expected or MISSING in results.dataset else None
    for name in results.strategies:
        n, left = int(done.sel(strategy=name)), "not stored"
        if ends is not None:
            mean, sem = (float(ends[what].sel(strategy=name)) for what in ("mean", "sem"))
            error = "" if np.isnan(sem) else f" \N{PLUS-MINUS SIGN} {sem:.2g}"
            left = "-" if np.isnan(mean) else f"{mean:.2f}{error} bits{' expected' if expected else ''}"
        yield world_class, name, str(n), str(of_each - n), left
