"""Planners of other literatures: reward-free exploration, maximum entropy, R-max, and worlds drawn from the posterior.

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
from berlyne.validation import FloatArray, check_count, check_number

ENTROPIES = ("entropy", "state_entropy")
BONUSES = ("ucrl", "express", *ENTROPIES)
"""Bonuses of reward-free exploration, and of exploration for the entropy of visits."""


@dataclass(frozen=True, repr=False)
class RewardFree(ValueIteration):
    r"""Action of largest bound on the error of values, for any reward, or on the entropy of visits.

    RF-UCRL, RF-Express and EntGame: one planner with relative frequencies and a bonus for rows that are seldom tried.

    With H = `steps_back` + 1 steps, S states, A actions and n observations of a row, the reward of a row with j steps
    to follow is, for `bonus="ucrl"`,

    $$\gamma \, \sigma_{j+1} \sqrt{\beta / \max(n, 1)}, \quad \sigma_j = \sum_{i<j} \gamma^i, \quad
    \beta = \log(2 S A H / \delta) + (S - 1) \log(e (1 + n / (S - 1)))$$

    and its value adds gamma times the expected value of the next state. For `bonus="express"` the reward is

    $$\beta / \max(n, 1), \quad \beta = \log(3 S A H / \delta) + S \log(8 e (n + 1))$$

    in units of 15 H^2, and its value adds (1 + 1 / H) times the expected value of the next state. For
    `bonus="entropy"` (EntGame) the reward is, after t observations,

    $$\log \frac{t + S A}{n + 1} + c \, \sigma_{j+1} \log(t + S A) \sqrt{\beta / \max(n, 1)}, \quad
    \beta = \log(4 S A H / \delta) + (S - 1) \log(e (1 + n / (S - 1)))$$

    with c = `scale`, and its value adds gamma times the expected value of the next state. The first term is the
    logarithm of the inverse frequency of the pair. The second one makes the plan optimistic. `bonus="state_entropy"`
    has S in place of S A in both logarithms, and the observations of all actions of the state in place of n in the
    first term.

    Plans use relative frequencies, and uniform ones for rows that were never tried. They do not use the prior. A plan
    is made after each episode.

    Sources: Kaufmann et al. (2021), Adaptive reward-free exploration; Ménard et al. (2021), Fast active learning for
    pure exploration in reinforcement learning; Tiapkin et al. (2023), Fast rates for maximum entropy exploration, which
    has pairs; Hazan et al. (2019), Provably efficient maximum entropy exploration, sought the entropy of states. The
    bonuses of the first and the third are those of the code published with them, with c = 1. The papers count
    observations for each step of an episode; this method counts them for all steps together, as these two codes do.
    The papers also cap values; the codes do not by default, and with the caps of the first two papers all values of a
    small experiment are equal (`cap=1`). The stopping rules are left out.

    Parameters
    ----------
    steps_back, gamma, after_end, replan : int, float, str, str or int
        As for `ValueIteration`; the discount is not used by `bonus="express"`.
    bonus : {"ucrl", "express", "entropy", "state_entropy"}
        The reward.
    delta : float
        Probability that the bound fails, above 0 and below 1.
    cap : float
        Largest value of a state, as a multiple of the largest possible value of a reward between 0 and 1, or between 0
        and log(t + S A) or log(t + S) for the entropies; 0 for none.
    scale : float
        Factor c of the optimism of the two entropies; the other rewards do not use it.
    """

    steps_back: int = 19
    gamma: float = 1.0
    after_end: str = "stop"
    replan: str | int = "episode"
    bonus: str = "ucrl"
    delta: float = 0.1
    cap: float = 0.0
    scale: float = 1.0
    short_name: ClassVar[str] = "RF"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bonus not in BONUSES:
            raise ValueError(f"bonus is {self.bonus!r}; it must be {', '.join(map(repr, BONUSES))}")
        check_number("delta", self.delta, 1e-12, 1.0 - 1e-12)
        check_number("cap", self.cap, 0.0, 1e12)
        check_number("scale", self.scale, 0.0, 1e12)

    def __repr__(self) -> str:
        """Return the call that makes the method; stores contain it, so a default that came later is left out."""
        names = ["steps_back", "gamma", "after_end", "replan", "bonus", "delta", "cap"]
        names += ["scale"] if self.scale != 1.0 else []
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
        return relative_frequencies(view)

    def _reward(self, view: View, j: int) -> FloatArray:
        n, n_states, horizon = view.n, view.n_states, self.steps_back + 1
        size = n_states * view.n_actions * horizon / self.delta
        if self.bonus in ENTROPIES:
            seen, highest = n if self.bonus == "entropy" else n.sum(axis=0), self._largest_log(view)
            beta = math.log(4.0 * size) + (n_states - 1) * (1.0 + np.log1p(n / max(n_states - 1, 1)))
            optimism = self.scale * highest * self.sigma(j) * np.sqrt(beta / np.maximum(n, 1))
            return np.asarray(highest - np.log(seen + 1.0) + optimism)
        if self.bonus == "express":
            beta = math.log(3.0 * size) + n_states * np.log(8.0 * math.e * (n + 1.0))
            return np.asarray(beta / np.maximum(n, 1))
        others = n_states - 1
        beta = math.log(2.0 * size) + others * (1.0 + np.log1p(n / max(others, 1)))
        return np.asarray(self.gamma * self.sigma(j) * np.sqrt(beta / np.maximum(n, 1)))

    def _largest_log(self, view: View) -> float:
        """Return the largest reward of the two entropies without optimism, the logarithm of a number of visits."""
        return math.log(view.t + view.n_states * (view.n_actions if self.bonus == "entropy" else 1))

    def _highest(self, view: View, j: int) -> float:
        if self.cap == 0.0:
            return np.inf
        return self.cap * self.sigma(j) * (self._largest_log(view) if self.bonus in ENTROPIES else 1.0)

    @property
    def _discount(self) -> float:
        return 1.0 + 1.0 / (self.steps_back + 1) if self.bonus == "express" else self.gamma


@dataclass(frozen=True, repr=False)
class RMax(ValueIteration):
    r"""Action of largest value, if every row that was tried less than m times is worth the highest reward for ever.

    R-max: Brafman & Tennenholtz (2002). A row with fewer than `m` observations leads to an imagined state in which
    every step has reward 1. With j steps to follow it is worth

    $$1 + \gamma + \dots + \gamma^j .$$

    Every other row leads where its relative frequencies say and, because the worlds here have no reward, is worth
    gamma times the expected value of the next state. So the explorer goes where it expects an unknown row soonest. If
    it expects none within its horizon, all values are 0, and it acts at random.

    The source plans again when a row becomes known, and then keeps the frequencies of that time. By default this method
    plans at every step with all observations.

    Parameters
    ----------
    steps_back, gamma, after_end, replan : int, float, str, str or int
        As for `ValueIteration`.
    m : int
        Number of observations after which a row is known, at least 1. The number in the proof of the source is far
        too large to be used.
    """

    steps_back: int = 10
    gamma: float = 1.0
    after_end: str = "restart"
    replan: str | int = "step"
    m: int = 5
    short_name: ClassVar[str] = "R-max"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("m", self.m, 1)

    def __repr__(self) -> str:
        """Return the call that makes the method."""
        names = "steps_back", "gamma", "after_end", "replan", "m"
        return f"RMax({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    @property
    def keeps_plans(self) -> bool:
        """True: the reward belongs to the plan."""
        return True

    def _theta(self, view: View) -> FloatArray:
        return np.asarray(np.where(view.n[:, :, np.newaxis] >= self.m, relative_frequencies(view), 0.0))

    def _reward(self, view: View, j: int) -> FloatArray:
        return np.asarray(np.where(view.n < self.m, np.sum(float(self.gamma) ** np.arange(j + 1)), 0.0))


def relative_frequencies(view: View) -> FloatArray:
    """Return the relative frequencies of outcomes, `[a, s, s_next]`, uniform for rows that were never tried."""
    n = view.n[:, :, np.newaxis]
    return np.asarray(np.where(n > 0, view.counts / np.maximum(n, 1), 1.0 / view.n_states))


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

    The random numbers of the draws derive from the seed of the exploration. `berlyne.replay` draws the same worlds as
    `berlyne.explore` if its `seed` is the same.
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
