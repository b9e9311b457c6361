"""Trials without states: choose a condition, see an outcome, and begin again, as in psychophysics.

Such an experiment is a world with one state in which actions are taken, `START`. Conditions are its actions. Each
outcome is a terminal state, so every trial is an episode of one step.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from berlyne.exploration.explorer import Explorer
from berlyne.exploration.lookahead import Gain
from berlyne.labels import as_list, without_numpy_scalars
from berlyne.priors.dirichlet import Alpha, Dirichlet
from berlyne.strategies.registry import Strategy
from berlyne.validation import Seed

START = "trial"
"""Label of the state in which every trial begins."""


class TrialExplorer(Explorer):
    """Explorer of trials without states; `berlyne.trials` creates one.

    `ask` returns the condition of the next trial, and `tell` records its outcome. All queries of an `Explorer` work.

    Examples
    --------
    >>> import berlyne
    >>> explorer = berlyne.trials(["soft", "loud"], ["heard", "not heard"], alpha=1.0)
    >>> condition = explorer.ask()
    >>> explorer.tell(condition, "heard")
    >>> explorer.n_obs
    1
    """

    def __repr__(self) -> str:
        size = f"{len(self.conditions)} conditions, {len(self.outcomes)} outcomes"
        return f"Explorer({self.strategy}, {size}, {self.n_obs:,} observations)"

    @property
    def conditions(self) -> tuple[Any, ...]:
        """The conditions, which are the actions."""
        return tuple(self.actions)

    @property
    def outcomes(self) -> tuple[Any, ...]:
        """The outcomes, which are the states after `START`."""
        return tuple(self.states[1:])

    def ask(self, among: Iterable[Any] | None = None) -> Any:
        """Return the condition of the next trial; the same one until the next outcome.

        Parameters
        ----------
        among : iterable, optional
            Conditions that are possible now; by default all.
        """
        return self.choose_pair()[1] if self.strategy.relocates and among is None else self.act(START, among)

    def tell(self, condition: Any, outcome: Any) -> None:
        """Learn the outcome of a trial.

        Parameters
        ----------
        condition, outcome : object
            The condition and the outcome.
        """
        self.observe(START, condition, outcome, ended=True)

    def expected_gain(self, n_steps: int, s: Any = START, *, n_samples: int = 100, seed: Seed = 0) -> Gain:
        """Return the expected gain of more trials, in bits, by simulation; see `Explorer.expected_gain`.

        Parameters
        ----------
        n_steps : int
            Number of trials.
        s : object, optional
            The state in which trials begin; leave it out.
        n_samples : int
            Number of simulations.
        seed : int, SeedSequence or Generator
            Seed for the simulations.

        Returns
        -------
        Gain
            Mean and standard error, in bits.
        """
        return super().expected_gain(n_steps, s, n_samples=n_samples, seed=seed)


def trials(
    conditions: Iterable[Hashable],
    outcomes: Iterable[Hashable],
    alpha: Alpha = 1.0,
    strategy: str | Strategy = "PIG(greedy)",
    seed: Seed = 0,
    *,
    costs: Any = None,
) -> TrialExplorer:
    """Create an explorer of trials without states, in which you choose a condition and see an outcome.

    Parameters
    ----------
    conditions, outcomes : iterable of hashable
        Labels of the conditions and of the outcomes.
    alpha : float or "ml"
        Concentration of the Dirichlet prior over the outcomes of each condition; "ml" learns it.
    strategy : str or Strategy
        The strategy.
    seed : int, SeedSequence or Generator
        Seed for ties and random conditions.
    costs : mapping or array of shape (M,), optional
        Costs of the conditions, as in `Explorer`.

    Returns
    -------
    TrialExplorer
        An explorer with `ask` and `tell`.
    """
    states, actions = trial_labels(conditions, outcomes)
    explorer = TrialExplorer(
        trial_prior(len(actions), len(states), alpha), strategy, seed, states=states, actions=actions, costs=costs
    )
    explorer.ends_in(explorer.outcomes)
    return explorer


def trial_labels(conditions: Iterable[Hashable], outcomes: Iterable[Hashable]) -> tuple[list[Any], list[Any]]:
    """Return the labels of the states and the actions of trials."""
    names = [without_numpy_scalars(label) for label in as_list("outcomes", outcomes)]
    actions = as_list("conditions", conditions)
    if len(names) < 2:
        raise ValueError(f"outcomes is {names!r}; a trial needs at least two outcomes")
    if not actions:
        raise ValueError("conditions is []; there must be at least one condition")
    if START in names:
        raise ValueError(f"an outcome is {START!r}, which is the name of the state before a trial; use another name")
    return [START, *names], actions


def trial_prior(n_actions: int, n_states: int, alpha: Alpha) -> Dirichlet:
    """Return the prior of trials: Dirichlet over the outcomes, which are all states but the first."""
    support = np.ones((n_actions, n_states, n_states), dtype=np.bool_)
    support[:, 0, 0] = False
    return Dirichlet(alpha, support)
