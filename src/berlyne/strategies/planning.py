"""Planners of other literatures: reward-free exploration, and planning in a world drawn from the posterior.

They are value iteration with another reward or another model, and plans that are kept for an episode. Schedules and
horizons are those of `ValueIteration`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from berlyne.priors.dirichlet_draws import begin_stream, draw_row, seeds_of
from berlyne.strategies.coordination import ValueIteration, View
from berlyne.validation import FloatArray, check_number

BONUSES = ("ucrl", "express")
"""Bonuses of reward-free exploration."""


@dataclass(frozen=True, repr=False)
class RewardFree(ValueIteration):
    r"""Action of largest bound on the error of values, for any reward: RF-UCRL and RF-Express.

    With H = `steps_back` + 1 steps, S states, A actions and n observations of a row, the reward of a row with j steps
    to follow is, for `bonus="ucrl"`,

    $$\gamma \, \sigma_{j+1} \sqrt{\beta / \max(n, 1)}, \quad \sigma_j = \sum_{i<j} \gamma^i, \quad
    \beta = \log(2 S A H / \delta) + (S - 1) \log(e (1 + n / (S - 1)))$$

    and its value adds gamma times the expected value of the next state. For `bonus="express"` the reward is

    $$\beta / \max(n, 1), \quad \beta = \log(3 S A H / \delta) + S \log(8 e (n + 1))$$

    in units of 15 H^2, and its value adds (1 + 1 / H) times the expected value of the next state. Plans use relative
    frequencies, and uniform ones for rows that were never tried. They do not use the prior. A plan is made after each
    episode.

    Sources: Kaufmann et al. (2021), Adaptive reward-free exploration, with the bonus of the code published with it,
    and Ménard et al. (2021), Fast active learning for pure exploration in reinforcement learning. Both papers count
    observations for each step of an episode; this method counts them for all steps together, as the first code does.
    Both papers also cap values; the first code does not by default, and with the caps of the papers all values of a
    small experiment are equal (`cap=1`). The stopping rules are left out.

    Parameters
    ----------
    steps_back, gamma, after_end, replan : int, float, str, str or int
        As for `ValueIteration`; the discount is not used by `bonus="express"`.
    bonus : {"ucrl", "express"}
        The reward.
    delta : float
        Probability that the bound fails, above 0 and below 1.
    cap : float
        Largest value of a state, as a multiple of the largest possible value of a reward between 0 and 1; 0 for none.
    """

    steps_back: int = 19
    gamma: float = 1.0
    after_end: str = "stop"
    replan: str | int = "episode"
    bonus: str = "ucrl"
    delta: float = 0.1
    cap: float = 0.0
    short_name: ClassVar[str] = "RF"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bonus not in BONUSES:
            raise ValueError(f"bonus is {self.bonus!r}; it must be 'ucrl' or 'express'")
        check_number("delta", self.delta, 1e-12, 1.0 - 1e-12)
        check_number("cap", self.cap, 0.0, 1e12)

    def __repr__(self) -> str:
        """Return the call that makes the method."""
        names = "steps_back", "gamma", "after_end", "replan", "bonus", "delta", "cap"
        return f"RewardFree({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    @property
    def keeps_plans(self) -> bool:
        """True: the reward belongs to the plan."""
        return True

    def sigma(self, j: int) -> float:
        """Return the largest value of a reward between 0 and 1 over j + 1 steps, or H in units of 15 H^2."""
        if self.bonus == "express":
            return 1.0 / (15.0 * (self.steps_back + 1))
        return j + 1.0 if self.gamma == 1.0 else (1.0 - self.gamma ** (j + 1)) / (1.0 - self.gamma)

    def _theta(self, view: View) -> FloatArray:
        n = view.n[:, :, np.newaxis]
        return np.asarray(np.where(n > 0, view.counts / np.maximum(n, 1), 1.0 / view.n_states))

    def _reward(self, view: View, j: int) -> FloatArray:
        n, n_states, horizon = view.n, view.n_states, self.steps_back + 1
        size = n_states * view.n_actions * horizon / self.delta
        if self.bonus == "express":
            beta = math.log(3.0 * size) + n_states * np.log(8.0 * math.e * (n + 1.0))
            return np.asarray(beta / np.maximum(n, 1))
        others = n_states - 1
        beta = math.log(2.0 * size) + others * (1.0 + np.log1p(n / max(others, 1)))
        return np.asarray(self.gamma * self.sigma(j) * np.sqrt(beta / np.maximum(n, 1)))

    def _highest(self, view: View, j: int) -> float:
        return self.cap * self.sigma(j) if self.cap > 0.0 else np.inf

    @property
    def _discount(self) -> float:
        return 1.0 + 1.0 / (self.steps_back + 1) if self.bonus == "express" else self.gamma


@dataclass(frozen=True, repr=False)
class PosteriorSampling(ValueIteration):
    """Action of largest utility summed over the next steps, planned in a world that is drawn from the posterior.

    Posterior sampling: Strens (2000), A Bayesian framework for reinforcement learning, and Osband, Russo & Van Roy
    (2013), (More) efficient reinforcement learning via posterior sampling. There the reward is unknown and drawn, too;
    here the utility is the reward. A world is drawn for each plan, by default after each episode; `replan="doubling"`
    is the schedule of Jaksch et al. (2010).

    Each row is drawn from a Dirichlet distribution with the pseudo-counts of the posterior. This is exact for a
    Dirichlet prior. For any other prior it has the right mean, and as many pseudo-counts as the prior has, or
    n + 1 if the prior has none.
    """

    replan: str | int = "episode"
    short_name: ClassVar[str] = "PSRL"

    def __repr__(self) -> str:
        """Return the call that makes the method."""
        names = "steps_back", "gamma", "after_end", "replan"
        return f"PosteriorSampling({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    @property
    def keeps_plans(self) -> bool:
        """True: a world is drawn for each plan."""
        return True

    def _is_due(self, view: View, s: int, a: int, s_next: int) -> bool:
        return self.replan == "step" or super()._is_due(view, s, a, s_next)

    def _theta(self, view: View) -> FloatArray:
        theta, state = np.empty(view.theta_hat.shape), np.empty(2, dtype=np.int64)
        begin_stream(state, seeds_of(view.seed), view.t)
        for s, a in np.ndindex(view.n_states, view.n_actions):
            theta[a, s] = draw_row(view.theta_hat[a, s], self._kappa(view, a, s), state)
        return theta

    @staticmethod
    def _kappa(view: View, a: int, s: int) -> float:
        """Sum of the pseudo-counts of row (a, s)."""
        n = int(view.counts[a, s].sum())
        total = getattr(view.prior, "total_pseudo_count", None)
        return n + 1.0 if total is None else float(total(n, a, s))
