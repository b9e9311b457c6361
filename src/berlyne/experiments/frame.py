"""Results as a tidy pandas frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from berlyne.experiments.results import Results

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
        if said.given is not None:
            spoken = [pd.NA if number is pd.NA else said[int(number)] for number in frame[name]]
            frame[name] = pd.Series(spoken, index=frame.index, dtype=object)
    return frame


def _outcomes(dataset: xr.Dataset) -> xr.DataArray:
    """Where actions led: what is stored for strategies that relocate, else the next state of the path."""
    stored, following = dataset["next_state"], dataset["state"].shift(time=-1)
    return stored.where(stored.notnull(), following.where(dataset["action"].notnull(), np.nan))
