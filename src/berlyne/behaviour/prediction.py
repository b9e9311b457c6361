"""Predictive checks: compare simulated people with the real ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.behaviour.data import Data, pandas
from berlyne.behaviour.fitting import Fit, check_fit
from berlyne.behaviour.simulation import simulate
from berlyne.plotting import figures_package
from berlyne.validation import FloatArray
from berlyne.worlds.world import World

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Statistic = Callable[[Any], Any]


@dataclass(frozen=True, eq=False)
class Predictive:
    """Statistics of real and of simulated people.

    Attributes
    ----------
    observed, simulated : dict of str to ndarray
        Statistics by name, (people, values); NaN if a person has fewer values.
    """

    observed: dict[str, FloatArray]
    simulated: dict[str, FloatArray]

    def __repr__(self) -> str:
        return repr(self.table)

    @property
    def table(self) -> pd.DataFrame:
        """A line for each statistic and value: median of real and simulated people, and the range of the middle 95 %.

        The range is that of medians of as many simulated people as there are real ones.
        """
        lines = []
        for name, observed in self.observed.items():
            low, high = self.median_range(name)
            median = np.nanmedian(self.simulated[name], axis=0)
            for i in range(observed.shape[1]):
                real = float(np.nanmedian(observed[:, i]))
                lines.append((name, i, real, median[i], low[i], high[i], bool(low[i] <= real <= high[i])))
        columns = ["statistic", "value", "observed", "simulated", "low", "high", "inside"]
        return pandas().DataFrame(lines, columns=columns).set_index(["statistic", "value"])

    def median_range(self, name: str, n_draws: int = 1000) -> tuple[FloatArray, FloatArray]:
        """Return the middle 95 % of medians of simulated people, as many as there are real ones."""
        rng, simulated = np.random.default_rng(0), self.simulated[name]
        picks = rng.integers(len(simulated), size=(n_draws, len(self.observed[name])))
        medians = np.nanmedian(simulated[picks], axis=1)
        low, high = np.nanpercentile(medians, [2.5, 97.5], axis=0)
        return low, high

    def plot(self) -> Figure:
        """Draw the statistics of real and simulated people, a panel for each."""
        drawn: Figure = figures_package().draw_predictive(self)
        return drawn


def predictive(
    fit: Fit,
    world: World,
    statistics: Mapping[str, Statistic],
    *,
    n_episodes: int | None = None,
    n_steps: int | None = None,
    until: Any = None,
    seeds: Iterable[int] = range(100),
) -> Predictive:
    """Compare statistics of the people of a fit with those of simulated people.

    Parameters
    ----------
    fit : Fit
        The fit.
    world : World
        The world in which people are simulated.
    statistics : mapping of str to callable
        Functions of the table of one person, with the columns s, a, s_next, ended and episode. They return a number or
        several, such as the number of steps of each episode.
    n_episodes, n_steps, until : optional
        When each simulated person stops, as in `bb.simulate`. By default as in the data: the median number of episodes
        if the world has terminal states and the data have ends, or else the median number of choices.
    seeds : iterable of int
        A seed for each simulated person.

    Returns
    -------
    Predictive
        The statistics, with `table` and `plot`.
    """
    check_fit(fit)
    if not statistics:
        raise ValueError("statistics is empty; it must contain functions of the table of a person, by name")
    if n_episodes is None and n_steps is None and until is None:
        n_episodes, n_steps = _length_of(fit.data, world)
    simulated = simulate(fit, world, n_episodes=n_episodes, n_steps=n_steps, until=until, seeds=seeds)
    tables = fit.data.frame, simulated.frame
    real, drawn = ({name: _by_person(table, f) for name, f in statistics.items()} for table in tables)
    for name in statistics:
        width = max(real[name].shape[1], drawn[name].shape[1])
        real[name], drawn[name] = (_padded(values, width) for values in (real[name], drawn[name]))
    return Predictive(real, drawn)


def _length_of(data: Data, world: World) -> tuple[int | None, int | None]:
    """Return the median number of episodes of a person, or of choices if episodes do not end."""
    n_ends = np.add.reduceat(data.frame["ended"].to_numpy(dtype=int), data.begin[:-1])
    if len(world.terminal) > 0 and np.median(n_ends) >= 1:
        return int(np.median(n_ends)), None
    return None, int(np.median(np.diff(data.begin)))


def _by_person(table: pd.DataFrame, statistic: Statistic) -> FloatArray:
    """Return the values of a statistic for each person, (people, values)."""
    rows = [
        np.atleast_1d(np.asarray(statistic(lines), dtype=float)) for _, lines in table.groupby("subject", sort=False)
    ]
    width = max(map(len, rows))
    return np.concatenate([_padded(row[None], width) for row in rows])


def _padded(values: FloatArray, width: int) -> FloatArray:
    """Return values (people, ...) with NaN appended up to a width."""
    return np.pad(values, ((0, 0), (0, width - values.shape[1])), constant_values=np.nan)
