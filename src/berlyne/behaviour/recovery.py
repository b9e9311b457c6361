"""Recovery of parameters and of models from simulated people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.behaviour.comparison import CrossValidation, compare
from berlyne.behaviour.data import Data, pandas
from berlyne.behaviour.fitting import Fit, Pool, fit
from berlyne.behaviour.simulation import Simulation, draw_person, simulate_people
from berlyne.behaviour.terms import Model
from berlyne.plotting import figures_package
from berlyne.validation import FloatArray
from berlyne.worlds.world import World

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

N_STEPS = 300
"""Choices of a simulated person, if no data say how many."""
DRIVE_WEIGHTS, OTHER_WEIGHTS, LAPSES = (0.5, 3.0), 0.5, (0.01, 0.15)
"""Drives: range of weights times the spread of their values. Other terms: standard deviation of this product.
Range of the lapse."""


@dataclass(frozen=True, eq=False)
class Recovery:
    """True and estimated parameters of simulated people.

    Attributes
    ----------
    true, estimated : pandas.DataFrame
        A line for each person, a column for each parameter.
    at_bound : pandas.DataFrame
        Whether the estimate is at a bound.
    """

    true: pd.DataFrame
    estimated: pd.DataFrame
    at_bound: pd.DataFrame

    def __repr__(self) -> str:
        return repr(self.table)

    @cached_property
    def table(self) -> pd.DataFrame:
        """A line for each parameter: correlation r, bias (mean of estimate minus truth), and the share at bounds."""
        error = self.estimated - self.true
        columns = {"r": self.true.corrwith(self.estimated), "bias": error.mean(), "at_bound": self.at_bound.mean()}
        return pandas().DataFrame(columns).loc[list(self.true)]

    def plot(self) -> Figure:
        """Draw estimates against true parameters, a panel for each parameter."""
        drawn: Figure = figures_package().draw_recovery(self)
        return drawn


def recover(
    model: Model,
    world: World,
    *,
    n_people: int = 40,
    like: Data | Fit | None = None,
    n_steps: int | None = None,
    weights: str = "free",
    pool: Pool = "none",
    seed: int = 0,
) -> Recovery:
    """Simulate people with known parameters, fit them, and compare.

    Parameters
    ----------
    model : Model
        The model.
    world : World
        The world that people explore.
    n_people : int
        Number of people.
    like : Data or Fit, optional
        People to simulate: parameters from a fit of the model to these data as a group, and their median number of
        choices. By default weights are drawn such that values matter moderately.
    n_steps : int, optional
        Choices of each person; by default as many as in `like`, or 300.
    weights, pool : str
        How to fit, as in `bb.fit`.
    seed : int
        Seed of the simulation.

    Returns
    -------
    Recovery
        True and estimated parameters, with `table` and `plot`.
    """
    simulated = _people_like(model, world, n_people, like, n_steps, seed)
    fitted = fit(simulated.data, model, weights=weights, pool=pool)
    index, names = simulated.parameters.index, fitted.names
    at_bound = np.broadcast_to(fitted.logit.at_bound, fitted.estimates.shape)
    estimated, bounds = (pandas().DataFrame(x, index=index, columns=names) for x in (fitted.estimates, at_bound))
    return Recovery(simulated.parameters, estimated, bounds)


def _people_like(
    model: Model, world: World, n_people: int, like: Data | Fit | None, n_steps: int | None, seed: int
) -> Simulation:
    """Simulate people like those of some data, or people for whom values matter moderately."""
    seeds = [int(s) for s in np.random.SeedSequence(seed).generate_state(n_people)]
    middle = {name: grid.values[len(grid.values) // 2] for name, grid in model.settings().items()}
    if like is None:
        n_steps = N_STEPS if n_steps is None else n_steps
        spread = _spread(model, middle, world, n_steps, seed)
        is_drive = np.array(model.is_drive(tuple(world.action_labels.all)), dtype=bool)

        def draw(rng: np.random.Generator) -> FloatArray:
            drives, others = rng.uniform(*DRIVE_WEIGHTS, len(spread)), rng.normal(0, OTHER_WEIGHTS, len(spread))
            drawn = np.where(is_drive, drives, others) / spread
            return np.append(drawn, rng.uniform(*LAPSES)) if model.has_lapse else drawn

        return simulate_people(model, middle, draw, world, (n_steps, None), seeds)
    fitted = like if isinstance(like, Fit) else fit(like, model, weights="positive", pool="group")
    if fitted.model != model:
        raise ValueError(f"like is a fit of {fitted.model}; it must be a fit of {model}, or data")
    if n_steps is None:
        n_steps = int(np.median(np.diff(fitted.data.begin)))
    settings = fitted.best_settings
    return simulate_people(model, settings, lambda rng: draw_person(fitted, rng), world, (n_steps, None), seeds)


def people_who_follow(model: Model, world: World, sharpness: float, size: tuple[int, int], seed: int) -> Simulation:
    """Simulate people whose weights times the spread of the values are `sharpness`; `size` is people and steps."""
    n_people, n_steps = size
    settings = {name: grid.values[0] for name, grid in model.settings().items()}
    weights = sharpness / _spread(model, settings, world, n_steps, seed)
    seeds = [int(s) for s in np.random.SeedSequence(seed).generate_state(n_people)]
    return simulate_people(model, settings, lambda rng: weights, world, (n_steps, None), seeds)


def _spread(model: Model, settings: Mapping[str, float], world: World, n_steps: int, seed: int) -> FloatArray:
    """Return the spread of the values among actions, for a person who chooses at random, (K,)."""
    n = len(model.weight_names(tuple(world.action_labels.all)))
    nothing = np.zeros(n + model.has_lapse)
    pilot = simulate_people(model, settings, lambda rng: nothing, world, (n_steps, None), [seed])
    spread = np.sqrt(np.mean(model.values(pilot.data, settings).var(axis=1), axis=0))
    return np.asarray(np.where(spread > 0, spread, 1.0))


@dataclass(frozen=True, eq=False)
class Confusion:
    """How often people simulated by one model are best explained by another.

    Attributes
    ----------
    table : pandas.DataFrame
        Share of the people simulated by the model of the line for whom the model of the column is best; lines sum to 1.
    criterion : str
        Name of the criterion.
    """

    table: pd.DataFrame
    criterion: str

    def __repr__(self) -> str:
        return repr(self.table)

    @property
    def inverse(self) -> pd.DataFrame:
        """Probability that people best explained by the model of the column come from the model of the line.

        All models are equally frequent beforehand; columns sum to 1, or are NaN if their model was never best.
        """
        return self.table / self.table.sum().replace(0.0, np.nan)

    def plot(self) -> Figure:
        """Draw the confusion matrix and its inverse."""
        drawn: Figure = figures_package().draw_confusion(self)
        return drawn


def confuse(
    models: Mapping[str, Model],
    world: World,
    *,
    n_people: int = 40,
    n_steps: int | None = None,
    by: str | CrossValidation = "bic",
    weights: str = "free",
    seed: int = 0,
) -> Confusion:
    """Simulate people by each of several models, and count which model explains them best.

    Parameters
    ----------
    models : mapping of str to Model
        Models by name.
    world : World
        The world that people explore.
    n_people : int
        Number of people for each model.
    n_steps : int, optional
        Choices of each person; 300 by default.
    by : {"bic", "laplace"} or CrossValidation
        Criterion, as in `bb.compare`.
    weights : {"free", "positive"}
        As in `bb.fit`.
    seed : int
        Seed of the simulation.

    Returns
    -------
    Confusion
        The matrix in `table`, its `inverse`, and `plot`.
    """
    if len(models) < 2:
        raise ValueError(f"models contains {len(models)}; at least two are needed")
    lines: dict[str, Any] = {}
    for name, model in models.items():
        simulated = _people_like(model, world, n_people, None, n_steps, seed)
        scores = compare(simulated.data, models, by=[by], weights=weights).scores()
        lines[name] = scores.idxmax(axis=1).value_counts(normalize=True).reindex(list(models), fill_value=0.0)
    return Confusion(pandas().DataFrame(lines).T, str(by))
