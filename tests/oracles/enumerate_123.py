"""The 1-2-3 prior by enumeration of all target sets, in exact fractions.

Written from the paper alone (Eq. 9, `eq:sne`; Eq. 3, `eq:be`; Theorem 2; Eq. 18) and sharing no code
with berlyne. States are numbered from zero, so the paper's state 1 is state 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

Estimate = Sequence[Fraction]


@dataclass(frozen=True)
class Row:
    """Joint probability of every target set and the outcomes seen so far."""

    n_states: int
    n_targets: int
    joint: dict[frozenset[int], Fraction]

    @classmethod
    def unseen(cls, n_states: int, n_targets: int, p_escape: Fraction) -> Row:
        """Eq. 9."""
        q = p_escape**n_targets
        joint = {}
        for targets in map(frozenset, combinations(range(n_states), n_targets)):
            if 0 in targets:
                joint[targets] = (1 - q) / math.comb(n_states - 1, n_targets - 1)
            else:
                joint[targets] = q / math.comb(n_states - 1, n_targets)
        return cls(n_states, n_targets, joint)

    def seeing(self, *outcomes: int) -> Row:
        """Return the row after more outcomes, each one of its targets with equal probability."""
        joint = self.joint
        for s in outcomes:
            joint = {targets: p / self.n_targets for targets, p in joint.items() if s in targets}
        return Row(self.n_states, self.n_targets, joint)

    @property
    def evidence(self) -> Fraction:
        """Probability of the outcomes in their order."""
        return sum(self.joint.values(), Fraction(0))

    def posterior(self) -> Iterator[tuple[frozenset[int], Fraction]]:
        evidence = self.evidence
        return ((targets, p / evidence) for targets, p in self.joint.items() if p > 0)

    def estimate(self) -> list[Fraction]:
        """Eq. 3: the posterior mean of the transition distribution."""
        mean = [Fraction(0)] * self.n_states
        for targets, p in self.posterior():
            for s in targets:
                mean[s] += p / self.n_targets
        return mean

    def after_each(self) -> dict[int, list[Fraction]]:
        """The estimate after each outcome that is still possible."""
        return {s: self.seeing(s).estimate() for s, p in enumerate(self.estimate()) if p > 0}

    def expected_missing(self, phi: Sequence[Fraction | float]) -> float:
        """E[KL(theta || phi)] given the data, in bits; infinite if phi excludes a possible target."""
        return math.fsum(float(p) * self._divergence(targets, phi) for targets, p in self.posterior())

    def expected_gain(self, now: Estimate, after: dict[int, list[Fraction]]) -> float:
        """Left side of Theorem 2: E[I_G] over theta and the next outcome, for any estimator."""
        gain = 0.0
        for targets, p in self.posterior():
            before = self._divergence(targets, now)
            gain += float(p) * sum(before - self._divergence(targets, after[s]) for s in targets) / self.n_targets
        return gain

    def _divergence(self, targets: frozenset[int], phi: Sequence[Fraction | float]) -> float:
        """KL(theta || phi) of the uniform distribution over `targets`."""
        if any(phi[s] == 0 for s in targets):
            return math.inf
        return -math.fsum(math.log2(self.n_targets * phi[s]) for s in targets) / self.n_targets


def divergence(p: Estimate, q: Estimate) -> float:
    """KL(p || q) in bits."""
    if any(x > 0 and y == 0 for x, y in zip(p, q, strict=True)):
        return math.inf
    return math.fsum(float(x) * math.log2(x / y) for x, y in zip(p, q, strict=True) if x > 0)


def pig(row: Row) -> float:
    """Eq. 11 with the divergence of reading R2."""
    now = row.estimate()
    return math.fsum(float(now[s]) * divergence(after, now) for s, after in row.after_each().items())


def pmc(row: Row) -> Fraction:
    """Eq. 19."""
    now = row.estimate()
    return sum((now[s] * (max(after) - max(now)) for s, after in row.after_each().items()), Fraction(0))


def plc(row: Row) -> Fraction:
    """Eq. 20."""
    now = row.estimate()
    change = {s: sum(abs(x - y) for x, y in zip(after, now, strict=True)) for s, after in row.after_each().items()}
    return sum((now[s] * change[s] / row.n_states for s in change), Fraction(0))


def peig(before: Row, outcome: int) -> float:
    """Eq. 18, first line: E[I_M before - I_M after] under the posterior that includes `outcome`."""
    now = before.seeing(outcome)
    return now.expected_missing(before.estimate()) - now.expected_missing(now.estimate())


def histories(n_states: int, n_targets: int) -> Iterator[tuple[int, ...]]:
    """Every set of outcomes a row can have shown, once in rising and once in falling order."""
    for size in range(n_targets + 1):
        for seen in combinations(range(n_states), size):
            yield seen
            if size > 1:
                yield seen[::-1]
