"""What a claim is, and what can be said of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from berlyne.claims.evidence import Evidence
from berlyne.stats import Friedman

HOLDS, FAILS, OPEN = "holds", "does not hold", "undecided"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at for a claim.

    about : what, for instance "Mazes: Random against Unembodied".
    expected : what the paper says of it.
    measured : what came out, in words and numbers.
    ok : whether that agrees; None if it cannot be decided.
    effect, low, high : size of the effect with a 95 % confidence interval, where there is one.
    p, p_all : p-value in the pool of the figure, and in the pool of all strategies.
    friedman, friedman_all : Friedman's test of these pools, which comes before any p-value of a pair.
    """

    about: str
    expected: str
    measured: str
    ok: bool | None
    effect: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_all: float | None = None
    friedman: Friedman | None = None
    friedman_all: Friedman | None = None


@dataclass(frozen=True)
class Verdict:
    """What came of checking a claim: the findings, and what they amount to."""

    findings: tuple[Finding, ...]

    @property
    def word(self) -> str:
        """Holds if all findings agree, does not hold if any disagrees, undecided otherwise."""
        if any(f.ok is False for f in self.findings):
            return FAILS
        return HOLDS if all(f.ok for f in self.findings) else OPEN

    @property
    def reason(self) -> str:
        """Why it does not hold, or is undecided; empty if it holds."""
        bad = [f for f in self.findings if not f.ok and (self.word != FAILS or f.ok is False)]
        return "; ".join(f"{f.about}: {f.measured}" for f in bad)


@dataclass(frozen=True)
class Claim:
    """A claim of the paper: where it is made, what it says, and how it is checked.

    place : where in the paper.
    figures : the figures that show it; `needs` names the stages whose numbers it is checked on.
    """

    id: str
    place: str
    text: str
    figures: tuple[str, ...]
    needs: tuple[str, ...]
    check: Callable[[Evidence], tuple[Finding, ...]]

    def verdict(self, evidence: Evidence) -> Verdict:
        """Check the claim on evidence, stored or invented."""
        return Verdict(tuple(self.check(evidence)))
