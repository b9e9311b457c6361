r"""A receding fluid plan: the explorer solves the program of the fluid bound for its own model, again and again.

With H steps ahead, let x_{j,r} be the probability that the plan takes row r = (a, s) at step j. As in `berlyne.bounds`
they satisfy flow equations, here of the explorer's own estimate, from its own state s_0, and for each step:

$$\sum_a x_{0,a,s} = 1[s = s_0], \qquad \sum_a x_{j+1,a,s} = \sum_r x_{j,r} \hat\Theta_r(s).$$

The loss of a row after $\sum_j \gamma^j x_{j,r}$ more looks is its expected missing information under the posterior,
made convex. So the plan knows that gains fall with every look, which is what the paper asks for in Sec. 4.1. It does
not know that its estimate of the transitions will change. With a discount gamma below 1, early looks count more, as
they do in the area under the learning curve. HiGHS solves the program, which takes tens of milliseconds in a world of
ten states.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np

from berlyne.priors import Dirichlet, OneTwoThree
from berlyne.sparse import Counts
from berlyne.strategies.coordination import ValueMethod, View
from berlyne.validation import FloatArray, IntArray, check_count, check_number, short_repr

LOOKS_PER_DOUBLING = 3
"""Numbers of looks at which the curve of a row is computed, for each doubling."""
MAX_VALUES = 20_000
"""Largest number of pairs of a step and a row in a plan."""
TOLERANCE = 1e-9
"""Smallest probability of a state for which the plan has an action."""


class FluidSolution(NamedTuple):
    """A plan.

    Attributes
    ----------
    x : ndarray of shape (H, M, N)
        Probability of taking each row at each step, `[step, a, s]`.
    loss : float
        Expected missing information that it leaves in the possible rows, in bits.
    t : int
        Number of observations when the plan was made.
    """

    x: FloatArray
    loss: float
    t: int


@dataclass(frozen=True)
class FluidPlan(ValueMethod):
    """Action by a plan of expected visits, which accounts for gains that fall with every look.

    The value of an action is its probability in the plan. The utility is not used: the plan maximises the expected
    information gain of all looks together, of which PIG is that of the first look.

    After an end the plan goes on where episodes begin. If episodes are cut, it sees no more steps than are left.

    Parameters
    ----------
    window : int
        Number of steps H that a plan sees, at least 1.
    replan : int
        A new plan is made every `replan` steps, at least 1 and at most `window`. A new plan is also made if a step led
        where the plan excludes it.
    gamma : float
        Discount of later looks, between 0 and 1.
    """

    window: int = 30
    replan: int = 1
    gamma: float = 0.98
    short_name: ClassVar[str] = "fluid"

    def __post_init__(self) -> None:
        check_count("window", self.window, 1)
        if check_count("replan", self.replan, 1) > self.window:
            raise ValueError(f"replan is {self.replan}; it must be at most window, which is {self.window}")
        check_number("gamma", self.gamma, 0.0, 1.0)

    def start(self, view: View) -> None:
        """Check the prior and the size; the first plan is made when the first action is chosen."""
        n_values = self.window * view.n_actions * view.n_states
        if n_values > MAX_VALUES:
            raise ValueError(
                f"window is {self.window} in a world of {view.n_actions * view.n_states} rows; a fluid plan can have "
                f"at most {MAX_VALUES} pairs of a step and a row"
            )
        if type(view.prior) not in (Dirichlet, OneTwoThree) and view.prior is not None:
            raise ValueError(
                f"prior is {short_repr(view.prior)}; a fluid plan needs a Dirichlet or a OneTwoThree prior"
            )
        view.memory = None

    def learn(self, view: View, s: int, a: int, s_next: int, reward: float) -> None:
        """Make a new plan if it is due and plans are kept."""
        plan: FluidSolution | None = view.memory
        if self.replan == 1 or view.terminal[s_next] or view.steps_left == 1:
            view.memory = None  # planned when the next action is chosen
        elif plan is None or view.t - plan.t >= self.replan or plan.x[view.t - plan.t, :, s_next].sum() <= TOLERANCE:
            left = None if view.steps_left is None else view.steps_left - 1  # it still counts this step
            view.memory = self.plan(view, s_next, left)

    def reset(self, view: View) -> None:
        """Discard the plan."""
        view.memory = None

    def values(self, view: View, s: int) -> FloatArray:
        """Return the probability of each action in state `s`."""
        plan: FluidSolution | None = view.memory
        j = 0 if plan is None else view.t - plan.t
        if plan is None or j >= len(plan.x) or plan.x[j, :, s].sum() <= TOLERANCE:
            plan, j = self.plan(view, s, view.steps_left), 0
        return np.asarray(plan.x[j, :, s] / plan.x[j, :, s].sum())

    def plan(self, view: View, s: int, steps_left: int | None) -> FluidSolution:
        """Solve the program from state `s`."""
        n_steps = self.window if steps_left is None else max(1, min(self.window, steps_left))
        looks = numbers_of_looks(n_steps)
        return solve(view, s, n_steps, looks, expected_losses(view.prior, view.counts, looks), self.gamma)


def numbers_of_looks(n_steps: int) -> IntArray:
    """Return numbers of looks from 0 to `n_steps`: small ones, then a geometric sequence."""
    n = int(np.ceil(LOOKS_PER_DOUBLING * np.log2(max(n_steps, 1)))) + 1
    more = np.round(2.0 ** (np.arange(n) / LOOKS_PER_DOUBLING)).astype(np.int64)
    return np.unique(np.concatenate([[0], more[more < n_steps], [n_steps]]))


def expected_losses(prior: Any, counts: IntArray, looks: IntArray) -> FloatArray:
    """Return the missing information of each row that is expected after more looks, in bits, `[a, s, look]`.

    The expectation is over rows and outcomes drawn from the posterior.
    """
    n_actions, n_states = counts.shape[:2]
    out = np.empty((n_actions, n_states, len(looks)))
    most, at = int(looks[-1]), tuple(looks.tolist())
    if isinstance(prior, OneTwoThree):
        table = prior.table("parameter_gain")
        for a, s in np.ndindex(n_actions, n_states):
            n_seen, first = int(np.count_nonzero(counts[a, s])), int(counts[a, s, 0] > 0)
            chances = _knowledge_after(prior, a, n_seen, first, most)[looks]
            out[a, s] = np.einsum("ktf,tf->k", chances, table[a])
        return out
    pseudo = prior._at_support(Counts.from_dense(counts))
    indptr = prior.support.entries()[0]
    for a, s in np.ndindex(n_actions, n_states):
        r = s * n_actions + a
        out[a, s] = _dirichlet_losses(tuple(np.sort(pseudo[indptr[r] : indptr[r + 1]]).tolist()), at)
    return out


@lru_cache(maxsize=100_000)
def _dirichlet_losses(pseudo_counts: tuple[float, ...], looks: tuple[int, ...]) -> FloatArray:
    """Return E[D(theta || theta_hat)] of a row with these pseudo-counts after more looks, in bits."""
    from scipy.special import digamma

    kappa, n = sum(pseudo_counts), np.array(looks)
    total = np.log(kappa + n) - digamma(kappa + n + 1.0)
    for c in pseudo_counts:
        total = total + _outcome_terms(c, kappa, looks) / (kappa + n)
    return np.asarray(np.maximum(total, 0.0) / np.log(2.0))


@lru_cache(maxsize=100_000)
def _outcome_terms(c: float, kappa: float, looks: tuple[int, ...]) -> FloatArray:
    """Return E[(c + n) (digamma(c + n + 1) - log(c + n))], where n of the looks show an outcome of pseudo-count c."""
    from scipy.special import betaln, digamma, gammaln

    out = np.empty(len(looks))
    for i, k in enumerate(looks):
        n, rest = np.arange(k + 1), kappa - c
        value = (c + n) * (digamma(c + n + 1.0) - np.log(c + n))
        if rest <= 0.0:
            out[i] = value[-1]  # the only outcome
            continue
        choose = gammaln(k + 1.0) - gammaln(n + 1.0) - gammaln(k - n + 1.0)
        out[i] = np.exp(choose + betaln(c + n, rest + k - n) - betaln(c, rest)) @ value
    return out


def _knowledge_after(prior: OneTwoThree, a: int, n_seen: int, first: int, n_looks: int) -> FloatArray:
    """Return the probability of each knowledge (T, first_seen) of a row after 0, 1, ... more looks."""
    n_others = prior.n_states - 1
    chance = np.zeros((n_looks + 1, prior.n_actions + 1, 2))
    chance[0, n_seen, first] = 1.0
    for k in range(n_looks):
        for t, f in np.argwhere(chance[k] > 0.0).tolist():
            p_first = 0.0 if f else float(prior._p_first[a, t])
            p_other = float(prior._p_other[a, t, f]) * (n_others - (t - f))
            if t > a:
                p_first = p_other = 0.0
            chance[k + 1, t, f] += chance[k, t, f] * (1.0 - p_first - p_other)
            if p_first > 0.0:
                chance[k + 1, t + 1, 1] += chance[k, t, f] * p_first
            if p_other > 0.0:
                chance[k + 1, t + 1, f] += chance[k, t, f] * p_other
    return chance


def hull(looks: IntArray, losses: FloatArray) -> IntArray:
    """Return the positions of the lower convex hull of a falling curve."""
    corners: list[int] = []
    for i in range(len(looks)):
        while len(corners) > 1:
            j, k = corners[-2], corners[-1]
            if (losses[k] - losses[j]) * (looks[i] - looks[j]) < (losses[i] - losses[j]) * (looks[k] - looks[j]):
                break
            corners.pop()
        corners.append(i)
    return np.array(corners)


def solve(view: View, s: int, n_steps: int, looks: IntArray, losses: FloatArray, gamma: float = 1.0) -> FluidSolution:
    """Return the plan of `n_steps` steps from state `s` that leaves the smallest sum of losses.

    Parameters
    ----------
    view : View
        The explorer's estimate, ends and possible actions.
    s : int
        The state.
    n_steps : int
        Number of steps.
    looks : ndarray of int, shape (K,)
        Numbers of looks, from 0 to `n_steps`.
    losses : ndarray of shape (M, N, K)
        Expected loss of each row after these looks.
    gamma : float
        Discount of later looks.
    """
    import scipy.sparse
    from scipy import optimize

    linprog, sparse = cast(Any, optimize.linprog), cast(Any, scipy.sparse)  # their types are incomplete
    n_states = view.n_states
    rows = np.argwhere(np.ones(view.utility.shape, dtype=bool) if view.possible is None else view.possible)
    n_rows, (a, state) = len(rows), rows.T
    segments = [_segments(looks, losses[i, z]) for i, z in rows.tolist()]
    of_row = np.repeat(np.arange(n_rows), [len(width) for width, _ in segments])
    width, slope = (np.concatenate([segment[i] for segment in segments]) for i in (0, 1))
    leaves = sparse.csr_array((np.ones(n_rows), (state, np.arange(n_rows))), shape=(n_states, n_rows))
    to_next = sparse.csr_array(_next_states(view, a, state).T)  # (N, R)
    flow = sparse.kron(sparse.eye_array(n_steps), leaves) - sparse.kron(sparse.eye_array(n_steps, k=-1), to_next)
    discounted = sparse.kron(gamma ** np.arange(n_steps)[None], sparse.eye_array(n_rows))
    parts = sparse.csr_array((-np.ones(len(of_row)), (of_row, np.arange(len(of_row)))), shape=(n_rows, len(of_row)))
    at_start = np.zeros(n_steps * n_states)
    at_start[s] = 1.0
    result = linprog(
        np.concatenate([np.zeros(n_steps * n_rows), slope]),
        A_eq=sparse.csc_array(sparse.block_array([[flow, None], [discounted, parts]])),
        b_eq=np.concatenate([at_start, np.zeros(n_rows)]),
        bounds=np.stack([np.zeros(n_steps * n_rows + len(width)), np.append(np.full(n_steps * n_rows, 1.0), width)], 1),
        method="highs",
    )
    if result.status != 0:
        raise RuntimeError(f"the program of the fluid plan was not solved: {result.message}")
    x = np.zeros((n_steps, *view.utility.shape))
    x[:, a, state] = result.x[: n_steps * n_rows].reshape(n_steps, n_rows)
    return FluidSolution(x, float(losses[a, state, 0].sum() + result.fun), view.t)


def _next_states(view: View, a: IntArray, s: IntArray) -> FloatArray:
    """Return the probability of being in each state after rows (a, s), (R, N).

    After an end this is the state in which the next episode begins. If no start is known, the plan stops there.
    """
    theta = view.theta_hat[a, s]
    if view.terminal is None or not np.any(view.terminal):
        return np.asarray(theta)
    begin = np.zeros(view.n_states) if view.starts is None else np.where(view.terminal, 0.0, view.starts)
    begin = begin / begin.sum() if begin.sum() > 0.0 else begin
    return np.asarray(np.where(view.terminal, 0.0, theta) + np.outer(theta[:, view.terminal].sum(axis=1), begin))


def _segments(looks: IntArray, losses: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return widths and slopes of the segments of the convex hull of a loss; the last has no end."""
    at = hull(looks, losses)
    width, fall = np.diff(looks[at]).astype(float), np.diff(losses[at])
    return np.append(width, np.inf), np.append(np.minimum(fall / width, 0.0), 0.0)
