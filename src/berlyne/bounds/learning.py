r"""How fast a row can be learned by an explorer that knows it.

A *part* is a share of the loss of one row. Its *value* at a price is the smallest expectation of loss + price * looks
that any number of looks attains. The function price -> value determines the lower convex hull of the expected loss
over the expected number of looks x, because the hull is the largest function that satisfies

$$g(x) \ge v(\lambda) - \lambda x \quad \text{for all prices } \lambda \ge 0.$$

- `FixedLooks`: the number of looks is chosen before the first one, possibly at random.
- `StoppedLooks`, `StoppedSets`: after every look the explorer decides whether to look again. This is a problem of
  optimal stopping, which backward induction over the counts of the row solves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np

from berlyne.engine.looks import TRACKED, expected_losses, stopping_value
from berlyne.priors import Dirichlet, OneTwoThree
from berlyne.priors.protocols import discovers_states
from berlyne.priors.refit import refit_schedule
from berlyne.validation import FloatArray, IntArray, short_repr
from berlyne.worlds.world import World

Loss = Literal["missing information", "l1"]
Policies = Literal["fixed", "adaptive"]

DENSE_LOOKS = 64
"""The curve of a row contains every number of looks up to this one."""
GROWTH = 1.01
"""Ratio of successive numbers of looks beyond that; a straight line between them is then accurate to 1e-4."""
MAX_TARGETS = 10
"""Largest number of outcomes of a row under a prior over sets of outcomes; all subsets are listed."""
WORK, MIN_WORK = 6e7, 2e5
"""Number of counts that backward inductions of all rows may visit for one price, and of one row; it limits depth."""


class Part(Protocol):
    """A share of the loss of a row."""

    @property
    def curve(self) -> FixedLooks:
        """Expected loss by the number of looks, if that is fixed in advance."""
        ...

    def value(self, price: float) -> float:
        """Smallest expectation of loss + price * looks; at least 0."""
        ...


@dataclass(frozen=True, eq=False)
class FixedLooks:
    """A part whose number of looks is fixed in advance.

    Attributes
    ----------
    looks : ndarray of int, shape (P,)
        Numbers of looks, ascending from 0.
    losses : ndarray of shape (P,)
        Expected loss after each of them.
    """

    looks: IntArray
    losses: FloatArray

    @property
    def curve(self) -> FixedLooks:
        """The part itself."""
        return self

    def value(self, price: float) -> float:
        """Smallest expectation of loss + price * looks."""
        return float(np.min(self.losses + price * self.looks))

    def best(self, price: float) -> int:
        """Number of looks at which loss + price * looks is smallest."""
        return int(self.looks[np.argmin(self.losses + price * self.looks)])

    def price(self, looks: float) -> float:
        """Decrease of the loss by one more look, about a number of looks; at least 0."""
        if len(self.looks) == 1:
            return 0.0
        i = int(np.clip(np.searchsorted(self.looks, looks), 1, len(self.looks) - 1))
        drop = (self.losses[i - 1] - self.losses[i]) / (self.looks[i] - self.looks[i - 1])
        return max(float(drop), 0.0)


@dataclass(frozen=True, eq=False)
class StoppedLooks:
    """A part of a row with a Dirichlet prior, with the decision to look again after every look.

    Attributes
    ----------
    curve : FixedLooks
        Expected loss if the number of looks is fixed.
    theta, alpha : ndarray of shape (4,)
        Probability and concentration of three tracked outcomes and of the rest.
    kappa : float
        Concentration of all outcomes.
    counts_rest, absolute : bool
        As in `stopping_value`.
    extra : callable
        Loss that depends on the number of looks alone.
    work : float
        Number of counts that may be visited.
    """

    curve: FixedLooks
    theta: FloatArray
    alpha: FloatArray
    kappa: float
    counts_rest: bool
    absolute: bool
    extra: Callable[[Any], FloatArray]
    work: float
    _values: dict[float, float] = field(default_factory=dict)

    def value(self, price: float) -> float:
        """Smallest expectation of loss + price * looks, or a lower bound of it if the work is limited."""
        if price <= 0.0:
            return 0.0
        if price not in self._values:
            extra = np.ascontiguousarray(self.extra(np.arange(self._depth(price) + 1.0)))
            self._values[price] = stopping_value(
                self.theta, self.alpha, self.kappa, price, extra, self.counts_rest, self.absolute
            )
        return self._values[price]

    def _depth(self, price: float) -> int:
        """Largest number of looks of the induction: few rules look much longer than is best on average."""
        depth = min(int(self.curve.looks[-1]), 4 * self.curve.best(price) + 16)
        n_counts = np.count_nonzero(self.theta[:TRACKED]) + 1
        while depth > 16 and math.comb(depth + n_counts, n_counts) > self.work:
            depth = depth * 9 // 10
        return depth


@dataclass(frozen=True, eq=False)
class StoppedSets:
    """A row under a prior over sets of equally likely outcomes: only the set of outcomes seen matters.

    Attributes
    ----------
    curve : FixedLooks
        Expected loss if the number of looks is fixed.
    losses : ndarray of shape (2 ** n_targets,)
        Loss by the set of outcomes seen; bit i stands for outcome i.
    """

    curve: FixedLooks
    losses: FloatArray

    def value(self, price: float) -> float:
        """Smallest expectation of loss + price * looks, if the number of looks is not limited."""
        n_sets, values = len(self.losses), self.losses.copy()
        bits = 1 << np.arange(n_sets.bit_length() - 1)
        for seen in range(n_sets - 2, -1, -1):
            unseen = bits[(seen & bits) == 0]
            until_new = len(bits) / len(unseen)  # expected number of looks until an unseen outcome
            values[seen] = min(values[seen], price * until_new + values[seen | unseen].mean())
        return float(values[0])


def parts_of(world: World, loss: Loss, policies: Policies, n_steps: int) -> list[list[Part]]:
    """Return the parts of each row that counts, in the order of `World.measured_rows`; equal rows share them."""
    make, rows = _row_descriptions(world)
    distinct, looks = dict(rows), number_of_looks(n_steps)
    work = max(WORK / max(len(rows), 1), MIN_WORK)
    parts = {key: make(row, looks, loss, policies, work) for key, row in distinct.items()}
    return [parts[key] for key, _ in rows]


def _row_descriptions(world: World) -> tuple[Callable[..., list[Part]], list[tuple[Any, Any]]]:
    """Return a function that makes the parts of a row, and a key and its argument for each row that counts."""
    prior: Any = world.prior
    indptr, counted = world.rows.indptr, np.flatnonzero(world.measured_rows).tolist()
    entries = [slice(indptr[r], indptr[r + 1]) for r in counted]
    if type(prior) is OneTwoThree:
        targets = [world.rows.indices[e] for e in entries]
        rows = zip(counted, targets, strict=True)
        return _set_parts, [((len(t), bool(t[0] == 0)), (prior, r, t)) for r, t in rows]
    if type(prior) is Dirichlet and refit_schedule(prior) is None:
        alpha, kappa = prior.concentrations(world.rows)
        made = [(world.rows.data[e], alpha[e], float(kappa[r])) for r, e in zip(counted, entries, strict=True)]
        return _dirichlet_parts, [((row[0].tobytes(), row[1].tobytes(), row[2]), row) for row in made]
    learns = not discovers_states(prior) and refit_schedule(prior) is not None
    reason = "learns its parameters, so that rows are not independent" if learns else "has no bound"
    raise ValueError(
        f"prior is {short_repr(prior)}, which {reason}; it must be a Dirichlet prior with a fixed alpha or "
        "OneTwoThree: pass prior="
    )


def number_of_looks(n_steps: int) -> IntArray:
    """Return numbers of looks from 0 to `n_steps`: all small ones, then a geometric sequence."""
    n_more = math.ceil(math.log(max(n_steps, 1) / DENSE_LOOKS) / math.log(GROWTH)) if n_steps > DENSE_LOOKS else 0
    more = DENSE_LOOKS * GROWTH ** np.arange(1, n_more + 1)
    looks = np.concatenate([np.arange(DENSE_LOOKS + 1), more.astype(np.int64), [n_steps]])
    return np.asarray(np.unique(looks[looks <= n_steps]))


def _dirichlet_parts(row: Any, looks: IntArray, loss: Loss, policies: Policies, work: float) -> list[Part]:
    """Return the parts of a row with a Dirichlet prior: theta and alpha of its outcomes, and the sum of all alphas."""
    theta, alpha, total = row
    absolute = loss == "l1"
    possible = float(alpha.sum())
    kappa = total if absolute else possible  # bits are those within the possible outcomes, and those for all of them

    def extra(n: Any) -> FloatArray:
        """Loss because the prior admits outcomes that are impossible in the world."""
        rest = max(total - possible, 0.0)
        return np.asarray(rest / (total + n) if absolute else np.log1p(rest / (possible + n)) / math.log(2.0))

    curves = np.array(
        [expected_losses(t, a, kappa, looks, absolute) for t, a in zip(theta.tolist(), alpha.tolist(), strict=True)]
    )
    whole = FixedLooks(looks, curves.sum(axis=0) + extra(looks))
    if policies == "fixed" or len(theta) == 1:
        return [whole]  # the only outcome of a row cannot surprise
    if len(theta) <= TRACKED + 1:
        padding = TRACKED + 1 - len(theta)
        theta, alpha = (np.concatenate([x[:-1], np.zeros(padding), x[-1:]]) for x in (theta, alpha))
        return [StoppedLooks(whole, theta, alpha, kappa, True, absolute, extra, work)]
    parts: list[Part] = [FixedLooks(looks, extra(looks))]
    for first in range(0, len(theta), TRACKED):
        group = slice(first, first + TRACKED)
        t, a = np.zeros(TRACKED + 1), np.zeros(TRACKED + 1)
        t[: len(theta[group])], a[: len(theta[group])] = theta[group], alpha[group]
        t[TRACKED] = 1.0 - t.sum()
        share = FixedLooks(looks, curves[group].sum(axis=0))
        parts.append(StoppedLooks(share, t, a, kappa, False, absolute, np.zeros_like, work * TRACKED / len(theta)))
    return parts


def _set_parts(row: Any, looks: IntArray, loss: Loss, policies: Policies, work: float) -> list[Part]:
    """Return the one part of a row under `OneTwoThree`: the prior, the number of the row and its targets."""
    prior, r, targets = row
    n_targets = len(targets)
    if n_targets > MAX_TARGETS:
        raise ValueError(f"a row has {n_targets} targets; bounds under OneTwoThree need at most {MAX_TARGETS}")
    s, a = divmod(r, prior.n_actions)
    theta, losses = np.zeros(prior.n_states), np.empty(1 << n_targets)
    theta[targets] = 1.0 / n_targets
    for seen in range(len(losses)):
        counts = np.zeros(prior.n_states, dtype=np.int64)
        counts[targets[[i for i in range(n_targets) if seen >> i & 1]]] = 1
        theta_hat = prior.row_estimate(counts, a, s)
        if loss == "l1":
            losses[seen] = np.abs(theta - theta_hat).sum()
        else:
            losses[seen] = max(float(np.log2(theta[targets] / theta_hat[targets]).mean()), 0.0)
    curve = FixedLooks(looks, _losses_after(losses, n_targets, looks))
    return [curve if policies == "fixed" or n_targets == 1 else StoppedSets(curve, losses)]


def _losses_after(losses: FloatArray, n_targets: int, looks: IntArray) -> FloatArray:
    """Return the expected loss after each number of looks; `losses` is by the set of outcomes seen."""
    sets = np.arange(len(losses))
    chance, expected, n = np.zeros(len(losses)), np.empty(len(looks)), 0
    chance[0] = 1.0
    for m, until in enumerate(looks.tolist()):
        while n < until:
            after = np.zeros(len(losses))
            for i in range(n_targets):
                np.add.at(after, sets | 1 << i, chance / n_targets)
            chance, n = after, n + 1
        expected[m] = chance @ losses
    return expected
