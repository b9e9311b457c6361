"""Read results as a labelled dataset, a tidy frame, or a text summary. Nothing here runs explorations."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.experiments.measures import EXPECTED_MISSING
from berlyne.experiments.schema import read_study
from berlyne.experiments.settings import check_same_settings
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
    """Stored results of a study. `open_results` and `Experiment.run` return them.

    Parameters
    ----------
    path : Path
        Directory of the store.
    dataset : xarray.Dataset
        `missing_information`, `l1_distance`, `area`, paths and counts over `world`, `strategy`, `time`. Worlds are in
        the order of their classes, and the runs in a world follow each other. Arrays are read from disk when they are
        needed. Explorations that are not done, and times after the end of a run, are NaN.
    settings : dict
        Settings of the study.
    experiment : Experiment, optional
        The study itself, if it is known. It provides the user's own worlds and strategies.
    """

    def __init__(
        self,
        path: Path,
        dataset: xr.Dataset,
        settings: dict[str, Any],
        experiment: Experiment | None = None,
    ) -> None:
        self.path, self.dataset, self.settings = path, dataset, settings
        self.experiment = experiment
        self._labels: dict[str, tuple[Labels, Labels] | None] = {}

    def __repr__(self) -> str:
        n_done, n_total = int(self.dataset["area"].notnull().sum()), self.dataset["area"].size
        return f"Results({self.path.name}: {', '.join(self.classes)}; {n_done:,} of {n_total:,} explorations)"

    def renamed(self, names: Mapping[str, str]) -> Results:
        """Return the results with other names for some strategies.

        Parameters
        ----------
        names : mapping of str to str
            New name by old name.

        Returns
        -------
        Results
            Results with the new names.
        """
        labels = [names.get(name, name) for name in self.strategies]
        relabelled = self.dataset.assign_coords(strategy=labels)
        return Results(self.path, relabelled, self.settings, self.experiment)

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
        """Whether every exploration is done."""
        return bool(self.dataset["area"].notnull().all())

    def has_no_table(self, world_class: str) -> bool:
        """Whether a class contains environments without a transition table, whose missing information is unknown."""
        return bool(self.settings["worlds"][self._check_class(world_class)].get("no table", False))

    def _check_class(self, world_class: str) -> str:
        """Return the name of a class; raise a ValueError if there is no such class."""
        if world_class not in self.classes:
            raise ValueError(f"there is no class {world_class!r} in {self.path}; it contains {', '.join(self.classes)}")
        return world_class

    def _curve(self, world_class: str) -> str:
        """Return the name of the measure that is the learning curve of a class."""
        return EXPECTED_MISSING if self.has_no_table(world_class) else MISSING

    def of(self, world_class: str) -> xr.Dataset:
        """Return the dataset of one class, with a time axis as long as its runs.

        If all its worlds are your own and share the labels of their states and actions, arrays over these (`a`, `s`,
        `s_next`, and `transition` of counts) have labels as coordinates. Paths contain indices; `to_frame` returns
        labels.

        Parameters
        ----------
        world_class : str
            Name of the class.

        Returns
        -------
        xarray.Dataset
            The part of `dataset` that belongs to the class.
        """
        n_steps = self.settings["worlds"][self._check_class(world_class)]["n_steps"]
        indices = np.flatnonzero(self.dataset["world_class"].values == world_class)
        dataset = self.dataset.isel(world=indices, time=slice(0, n_steps + 1))
        if not set(dataset.dims) & {"a", "s", "s_next", "transition"}:
            return dataset
        from berlyne.experiments.reading import assign_labels

        labels = self.labels(world_class)
        return dataset if labels is None else assign_labels(dataset, labels)

    def labels(self, world_class: str) -> tuple[Labels, Labels] | None:
        """Return the labels of states and of actions that all worlds of a class share; None if they have no labels."""
        from berlyne.experiments.reading import shared_labels

        if world_class not in self._labels:
            self._labels[world_class] = shared_labels(self, world_class)
        return self._labels[world_class]

    def curves(self, world_class: str, measure: str | None = None, strategies: list[str] | None = None) -> xr.Dataset:
        """Mean learning curve and its standard error.

        The standard error is computed over worlds, after averaging the runs of each world. With a single world, it is
        computed over its runs.

        Parameters
        ----------
        world_class : str
            Name of the class.
        measure : str, optional
            Name of a measure over time; by default `missing_information`, or `expected_missing_information` for
            environments without a transition table, where the former is unknown.
        strategies : list of str, optional
            Names of the strategies; by default all.

        Returns
        -------
        xarray.Dataset
            `mean` and `sem` over (strategy, time).
        """
        values = self.by_world(world_class, measure)
        return _mean(values if strategies is None else values.sel(strategy=self._named(strategies)))

    def ends(self, world_class: str, measure: str | None = None) -> xr.Dataset:
        """Last point of the learning curves, `mean` and `sem` over (strategy,); see `curves`."""
        return _mean(self.by_world(world_class, measure).isel(time=-1))

    def by_world(self, world_class: str, measure: str | None = None) -> xr.DataArray:
        """Values of a measure, one per world: the mean of its runs. If there is one world, one per run."""
        return _by_world(self._measured(world_class, measure).astype(float), self.settings["n_worlds"])

    def areas(self, world_class: str) -> xr.DataArray:
        """Area under each learning curve, in bits, (world, strategy); the curve is the default measure of `curves`."""
        return self.of(world_class)["area"]

    def ranks(self, world_class: str, strategies: list[str] | None = None) -> xr.DataArray:
        """Rank of each strategy in each world by area, 1 for the smallest, (world, strategy)."""
        from scipy.stats import rankdata

        areas = self.areas(world_class)
        if strategies is not None:
            areas = areas.sel(strategy=self._named(strategies))
        return areas.copy(data=rankdata(areas.values, axis=1))

    def history(self, world: str, strategy: str) -> Any:
        """Path of one exploration as indices: rows (s, a, s_next), (n_steps, 3). `run(...).history` has labels."""
        world, strategy = self._check("world", world), self._check("strategy", strategy)
        run = self.dataset.sel(world=world, strategy=strategy)
        if np.isnan(run["area"].item()):
            raise ValueError(f"{strategy} has not explored {world} yet; run the study again to resume it")
        n_steps = self.n_steps(world)
        return np.stack([run[name].values[:n_steps] for name in PATH], axis=1).astype(np.int64)

    def n_steps(self, world: str) -> int:
        """Number of steps of each exploration of a world."""
        return int(self.settings["worlds"][self._check("world", world).split("/")[0]]["n_steps"])

    def world(self, world: str) -> World:
        """Return the world with an id such as "maze/017", or of a run in it.

        It equals the explored world: it is drawn again from its random stream, or read from the store. Your own worlds
        are read, with their labels. Your own priors are not stored: using such a prior raises an error.

        Parameters
        ----------
        world : str
            Id of a world or of a run.

        Returns
        -------
        World
            The world.
        """
        from berlyne.experiments.reading import restore_world

        return restore_world(self, world)

    def run(self, world: str, strategy: str) -> Run:
        """Return one exploration, restored from the store; nothing is run.

        Path and counts are exact. Curves have the single precision of the store; a curve that is not stored is NaN.

        Parameters
        ----------
        world : str
            Id of a world or of a run.
        strategy : str
            Name of the strategy.

        Returns
        -------
        Run
            The exploration.
        """
        from berlyne.experiments.reading import restore_run

        return restore_run(self, self._check("world", world), self._check("strategy", strategy))

    def to_frame(self, measures: str | Sequence[str] | None = None, world_class: str | None = None) -> pd.DataFrame:
        """Return a tidy pandas frame: a row for each world, strategy and time, and a column for each measure.

        Explorations that are not done, and times after the end of a run, have no row. States and actions of a path are
        labels if all worlds of their class are your own and share their labels; otherwise they are indices.

        Parameters
        ----------
        measures : str or sequence of str, optional
            Names of arrays with the same dimensions; the frame has a row for each of their values (for `"area"`, a row
            for each exploration). By default all arrays over time, including the path.
        world_class : str, optional
            Name of a class; by default all classes.

        Returns
        -------
        pandas.DataFrame
            The frame.
        """
        return tidy_frame(self, measures, world_class)

    def plot(
        self,
        measure: str | None = None,
        *,
        world_class: str | None = None,
        strategies: Sequence[str] | None = None,
        ax: Any = None,
    ) -> Any:
        """Plot mean curves with bands of one standard error, one panel per class; see `curves`.

        Parameters
        ----------
        measure : str, optional
            Name of a measure over time; by default the learning curve.
        world_class : str, optional
            Name of a class; by default all classes.
        strategies : sequence of str, optional
            Names of the strategies; by default all.
        ax : Axes or sequence of Axes, optional
            Axes to draw on, one for each class; by default a new figure.

        Returns
        -------
        Axes or list of Axes
            The axes; a list if there are several classes.
        """
        classes = self.classes if world_class is None else [world_class]
        names = self.strategies if strategies is None else self._named(strategies)
        measures = {name: measure or self._curve(name) for name in classes}
        curves = {name: self.curves(name, class_measure, names) for name, class_measure in measures.items()}
        units = str(self.dataset[measures[classes[0]]].attrs.get("units", ""))
        axes = figures_package().draw_bands(curves, measures, units, ax)
        return axes[0] if len(axes) == 1 else axes

    def _measured(self, world_class: str, measure: str | None) -> xr.DataArray:
        """Return a measure over time in one class, by default its learning curve."""
        dataset, measure = self.of(world_class), measure or self._curve(world_class)
        if measure not in dataset or dataset[measure].dims != ("world", "strategy", "time"):
            over_time = [name for name in map(str, dataset) if dataset[name].dims == ("world", "strategy", "time")]
            over_time = [name for name in over_time if name not in ("state", "action", "next_state")]
            raise ValueError(
                f"there is no measure {measure!r} over time in {self.path}; there are {', '.join(over_time) or 'none'}"
            )
        return dataset[measure]

    def _named(self, strategies: Any) -> list[str]:
        """Return the names of several strategies; raise a ValueError if one is not stored."""
        return [self._check("strategy", name) for name in as_list("strategies", strategies)]

    def _check(self, dim: str, label: Any) -> str:
        """Return the name of a world or strategy, given by name or as an object; a ValueError if it is not stored."""
        name, stored = str(label), self.dataset[dim].values.tolist()
        if name not in stored:
            near = difflib.get_close_matches(name, stored, n=1, cutoff=0.0)
            raise ValueError(f"there is no {dim} {name!r} in {self.path}; the nearest is {(near or stored)[0]!r}")
        return name

    def counts(self, world: str, strategy: str, n_steps: int, n_states: int, n_actions: int) -> Counts:
        """Return the transitions observed in the first `n_steps` steps of one exploration, counted along its path."""
        s, a, s_next = self.history(world, strategy)[:n_steps].T
        for name, columns, size in (("n_states", (s, s_next), n_states), ("n_actions", (a,), n_actions)):
            needed = max((int(column.max()) for column in columns if len(column)), default=-1) + 1
            if size < needed:
                raise ValueError(
                    f"{name} is {size}; the path of {strategy} in {world} contains {needed - 1}, so it must be at "
                    f"least {needed}"
                )
        keys, n = np.unique((s * n_actions + a) * n_states + s_next, return_counts=True)
        return Counts.from_keys(n_actions, n_states, keys, n)

    def area_ratios(self, world_class: str, over: str = "Unembodied") -> FloatArray:
        """Mean ratio of the area of every strategy to that of the strategy `over`, (strategy,)."""
        areas = self.areas(world_class)
        return np.asarray((areas / areas.sel(strategy=self._check("strategy", over))).mean("world").values)


def _mean(values: xr.DataArray) -> xr.Dataset:
    """Mean and standard error over worlds."""
    sem = values.std("world", ddof=1) / np.sqrt(values.notnull().sum("world"))
    return values.mean("world").to_dataset(name="mean").assign(sem=sem)


def _by_world(values: xr.DataArray, n_worlds: int) -> xr.DataArray:
    """Return means over the runs in each world; the values themselves if there is one run per world or one world."""
    if "run" not in values.coords or n_worlds == 1:
        return values
    ids = [str(label).rsplit("/", 1)[0] for label in values["world"].values]
    return values.assign_coords(world=ids).groupby("world").mean("world")


def open_results(path: str | os.PathLike[str], experiment: Experiment | None = None) -> Results:
    """Open stored results for reading.

    Chunks are checked when they are read: a `StoreError` names chunks that are missing, damaged or misplaced.

    Parameters
    ----------
    path : path-like
        Directory of the store.
    experiment : Experiment, optional
        The study of the store. It provides your own worlds, priors and strategies.

    Returns
    -------
    Results
        The results.

    Raises
    ------
    StoreError
        If there is no store at `path`, if it has another format, or if it is damaged.
    SettingsError
        If the store was made with other settings than those of `experiment`.
    """
    place = Path(path)
    if not place.is_dir():
        raise StoreError(f"there are no results at {place}")
    if experiment is not None:
        check_same_settings(place, read_study(place).settings, experiment.settings)
    return load_results(place, experiment)


def load_results(place: Path, experiment: Experiment | None) -> Results:
    """Open the store at a path without comparing its settings to those of the experiment."""
    import xarray as xr

    from berlyne.experiments.reading import CheckedStore, mask_unexplored_counts

    study = read_study(place)
    settings = study.settings
    dataset = xr.open_zarr(CheckedStore(place, study), chunks=None, consolidated=False)[[*study.layout.arrays]]
    labels = {name: np.array(dataset[name].values.tolist(), dtype=str) for name in ("world", "world_class", "strategy")}
    uncounted = [name for name, world_class in settings.worlds.items() if world_class.get("no table", False)]
    dataset = mask_unexplored_counts(dataset, uncounted).assign_coords(
        world=labels["world"], world_class=("world", labels["world_class"]), strategy=labels["strategy"]
    )
    index, class_index = np.divmod(np.arange(len(labels["world"])), len(settings.worlds))
    by_class = np.lexsort((index // settings.n_worlds, index % settings.n_worlds, class_index))
    return Results(place, dataset.isel(world=by_class), settings.describe(), experiment)


OVER_TIME = ("world", "strategy", "time")
PATH = ("state", "action", "next_state")


def tidy_frame(results: Results, measures: str | Sequence[str] | None, world_class: str | None) -> pd.DataFrame:
    """Return a frame with one row for each value of the named arrays; see `Results.to_frame`."""
    import pandas as pd

    names = _array_names(results.dataset, measures)
    classes = results.classes if world_class is None else [world_class]
    frames = [_with_labels(_class_frame(results.of(name), names), results, name) for name in classes]
    return pd.concat(frames, ignore_index=True)


def _array_names(dataset: xr.Dataset, measures: str | Sequence[str] | None) -> list[str]:
    """Return the names of the requested arrays; raise a ValueError if their dimensions differ."""
    stored = [str(name) for name in dataset.data_vars]
    if measures is None:
        return [name for name in stored if dataset[name].dims == OVER_TIME]
    names = [measures] if isinstance(measures, str) else list(measures)
    for name in names:
        if name not in stored:
            raise ValueError(f"unknown measure {name!r}; the measures are {', '.join(stored)}")
    for name in names[1:]:
        if dataset[name].dims != dataset[names[0]].dims:
            raise ValueError(
                f"{names[0]} has the dimensions {', '.join(map(str, dataset[names[0]].dims))}, but {name} has "
                f"{', '.join(map(str, dataset[name].dims))}; call to_frame once for each"
            )
    if not names:
        raise ValueError("measures is empty; it must name at least one array")
    return names


def _class_frame(dataset: xr.Dataset, names: list[str]) -> pd.DataFrame:
    """Return the arrays of one class as a frame, without rows in which all values are missing."""
    selected = dataset[names]
    dims = list(selected[names[0]].dims)
    frame: Any = selected.to_dataframe(dim_order=dims).reset_index()
    extra = [f"transition_{dim}" for dim in ("a", "s", "s_next") if "transition" in dims]
    labels = ["world_class", "world", *(["run"] if "run" in frame else []), *dims[1:]]
    labels += [name for name in extra if name in frame]
    frame = frame[[*labels, *names]].dropna(subset=names, how="all")
    return frame.astype({name: "Int64" for name in PATH if name in names})


def _with_labels(frame: pd.DataFrame, results: Results, world_class: str) -> pd.DataFrame:
    """Replace the states and actions of paths by their labels, if there are any."""
    import pandas as pd

    path = [name for name in PATH if name in frame]
    labels = results.labels(world_class) if path else None
    for name in path if labels is not None else []:
        axis_labels = labels[name == "action"]  # type: ignore[index]  # the loop is empty if labels is None
        if axis_labels.custom is not None:
            values = [pd.NA if index is pd.NA else axis_labels[int(index)] for index in frame[name]]
            frame[name] = pd.Series(values, index=frame.index, dtype=object)
    return frame


def summary_lines(results: Results) -> Iterator[str]:
    """Yield the lines of a summary: settings, size, versions and stored arrays."""
    study = read_study(results.path)
    settings = study.settings
    yield repr(results)
    worlds = [f"{name} ({world_class['n_steps']:,} steps)" for name, world_class in settings.worlds.items()]
    runs = f", {settings.n_runs:,} runs in each" if settings.n_runs > 1 else ""
    yield f"worlds: {', '.join(worlds)}; {settings.n_worlds:,} of each class{runs}"
    yield f"seed: {settings.seed}{'; common random numbers' if settings.common_random_numbers else ''}"
    if study.shard is not None:
        yield f"shard: {study.shard.part} of {study.shard.n_parts}"
    if settings.snapshots:
        yield f"snapshots: {', '.join(map(str, settings.snapshots))}"
    yield f"measures: {'; '.join(_array_summary(results, str(name)) for name in results.dataset.data_vars)}"
    earlier = [("earlier versions", versions) for versions in study.earlier_versions]
    for label, versions in (("versions", study.versions), *earlier):
        yield f"{label}: {', '.join(f'{name} {number}' for name, number in versions.items())}"


def _array_summary(results: Results, name: str) -> str:
    array = results.dataset[name]
    dims = ", ".join(str(dim) for dim in array.dims if dim not in ("world", "strategy"))
    return f"{name} ({dims})" if dims else name


def final_rows(results: Results, world_class: str) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield a row of text for each strategy, with the final missing information in bits.

    The final value is the mean and its standard error, as the last time in `Results.curves`. For environments without
    a transition table it is the expected missing information, and marked so.

    Yields
    ------
    tuple of str
        Class, strategy, number of explorations done, number of explorations missing, and final value.
    """
    n_per_class = results.areas(world_class).sizes["world"]
    n_done = results.areas(world_class).notnull().sum("world")
    is_expected = results.has_no_table(world_class)
    ends = results.ends(world_class) if is_expected or MISSING in results.dataset else None
    for name in results.strategies:
        n, final = int(n_done.sel(strategy=name)), "not stored"
        if ends is not None:
            mean, sem = (float(ends[statistic].sel(strategy=name)) for statistic in ("mean", "sem"))
            error = "" if np.isnan(sem) else f" \N{PLUS-MINUS SIGN} {sem:.2g}"
            final = "-" if np.isnan(mean) else f"{mean:.2f}{error} bits{' expected' if is_expected else ''}"
        yield world_class, name, str(n), str(n_per_class - n), final
