"""Which world tells strategies apart: the expected log Bayes factor of a choice, world by world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.behaviour.data import pandas
from berlyne.behaviour.fitting import fit
from berlyne.behaviour.recovery import people_who_follow
from berlyne.behaviour.terms import model
from berlyne.plotting import figures_package
from berlyne.validation import FloatArray
from berlyne.worlds.world import World

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Separation:
    """Worlds, ranked by how well they tell strategies apart.

    Attributes
    ----------
    strategies : tuple of str
        The strategies.
    matrices : dict of str to ndarray
        For each world, the expected log Bayes factor of a choice in nats, `[true, other]`; the diagonal is 0.
    """

    strategies: tuple[str, ...]
    matrices: dict[str, FloatArray]

    def __repr__(self) -> str:
        return repr(self.table)

    @property
    def table(self) -> pd.DataFrame:
        """A line for each world, best first: nats per choice of the hardest pair, the pair, and the mean."""
        off = ~np.eye(len(self.strategies), dtype=bool)
        lines = []
        for name, matrix in self.matrices.items():
            i, j = np.unravel_index(np.where(off, matrix, np.inf).argmin(), matrix.shape)
            pair = f"{self.strategies[i]} as {self.strategies[j]}"
            lines.append((name, float(matrix[i, j]), pair, float(matrix[off].mean())))
        columns = ["world", "hardest pair", "which", "mean"]
        table = pandas().DataFrame(lines, columns=columns).set_index("world")
        return table.sort_values("hardest pair", ascending=False)

    def plot(self) -> Figure:
        """Draw the nats per choice of each world."""
        drawn: Figure = figures_package().draw_separation(self)
        return drawn


def separate(
    strategies: Sequence[str],
    candidates: Mapping[str, World] | Sequence[World],
    *,
    n_people: int = 10,
    n_steps: int = 200,
    sharpness: float = 1.5,
    seed: int = 0,
) -> Separation:
    """Rank worlds by how well choices in them tell strategies apart.

    In each world, people who follow each strategy are simulated. Each strategy is fitted to all of them, with one
    weight. The log Bayes factor of a choice is the difference of the log-likelihoods per choice; since all strategies
    have one weight, no penalty is needed.

    Parameters
    ----------
    strategies : sequence of str
        Names of at least two strategies, such as "PIG(VI)" and "rarity(VI)".
    candidates : mapping of str to World, or sequence of World
        Worlds with priors.
    n_people : int
        People simulated for each strategy and world.
    n_steps : int
        Choices of each person.
    sharpness : float
        Weight times the spread of the values, for the simulated people.
    seed : int
        Seed of the simulation.

    Returns
    -------
    Separation
        The worlds in order, with `table`, `matrices` and `plot`.
    """
    if len(strategies) < 2 or len(set(strategies)) < len(strategies):
        raise ValueError(f"strategies is {list(strategies)}; it must contain at least two different strategies")
    worlds: dict[str, Any] = dict(candidates) if isinstance(candidates, Mapping) else {}
    if not worlds:
        worlds = {f"world {i}": world for i, world in enumerate(candidates)}
    if not worlds:
        raise ValueError("candidates is empty; it must contain at least one world")
    matrices = {}
    for name, world in worlds.items():
        models = {strategy: model(strategy, world) for strategy in strategies}
        matrix = np.zeros((len(models), len(models)))
        for i, true in enumerate(models.values()):
            data = people_who_follow(true, world, sharpness, (n_people, n_steps), seed).data
            fits = [fit(data, other, pool="all").log_likelihood.sum() for other in models.values()]
            matrix[i] = (fits[i] - np.array(fits)) / data.scored.sum()
        matrices[name] = matrix
    return Separation(tuple(strategies), matrices)
