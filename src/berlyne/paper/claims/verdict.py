"""Claims of the paper, findings and verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from berlyne.paper.claims.evidence import Evidence
from berlyne.paper.claims.fitted import readings_chosen_by
from berlyne.stats import Friedman

HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided"
INDEPENDENT, USED_FOR_FITTING = "holds on its own", "holds, but was used to choose a reading"
GROUP_TEXTS = {
    INDEPENDENT: "hold on their own",
    USED_FOR_FITTING: "hold, but were used to choose a reading",
    FAILS: "do not hold",
    UNDECIDED: "are undecided",
}
"""Groups that claims are counted in, with the plural of each; claims used to choose a reading are no evidence."""


def group_text(group: str, count: int) -> str:
    """Return the verb phrase for `count` claims of a group."""
    return (f"is {group}" if group == UNDECIDED else group) if count == 1 else GROUP_TEXTS[group]


def group_counts(groups: Sequence[str]) -> list[str]:
    """Return the number of claims in each group as text, such as "2 do not hold"."""
    counts = {group: groups.count(group) for group in GROUP_TEXTS if group in groups}
    return [f"{count} {group_text(group, count)}" for group, count in counts.items()]


class PoolComparison(NamedTuple):
    """Comparison of two strategies within a pool.

    Attributes
    ----------
    slower : bool
        Whether the first strategy has the higher mean rank.
    p : float
        p-value of the difference of their mean ranks.
    friedman : Friedman
        Friedman's test of the whole pool.
    """

    slower: bool
    p: float
    friedman: Friedman

    def differ(self, alpha: float) -> bool:
        """Return whether Friedman's test of the pool and the comparison of this pair are both significant."""
        return self.friedman.p < alpha and self.p < alpha


@dataclass(frozen=True)
class Finding:
    """One measurement made to check a claim.

    Parameters
    ----------
    about : str
        Subject of the measurement, such as "Mazes: Random against Unembodied".
    expected : str
        Statement of the paper about it.
    measured : str
        Result in words and numbers.
    ok : bool or None
        Whether the result agrees with the paper; None if it cannot be decided.
    ours : str
        Criterion for agreement if it is ours; empty if the paper gives it.
    effect, low, high : float or None
        Size of the effect and its 95 % confidence interval, if there is one.
    unit : str
        Unit of the effect, such as "area" (a share of the area) or "ranks".
    p : float or None
        p-value that decides, if there is one.
    pools : mapping of str to PoolComparison
        Comparison of the same pair in every pool of strategies (reading R16).
    friedman : Friedman or None
        Friedman's test that precedes the comparison of a pair.
    strategies : tuple of str
        Strategies that it is about, if it is about one, or about a pair.
    """

    about: str
    expected: str
    measured: str
    ok: bool | None
    ours: str = ""
    effect: float | None = None
    low: float | None = None
    high: float | None = None
    unit: str = ""
    p: float | None = None
    pools: Mapping[str, PoolComparison] = field(default_factory=dict)
    friedman: Friedman | None = None
    strategies: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """Result of checking a claim.

    Parameters
    ----------
    findings : tuple of Finding
        All measurements made to check the claim.
    """

    findings: tuple[Finding, ...]

    @property
    def word(self) -> str:
        """The verdict: "holds" if all findings agree, "does not hold" if any disagrees, "undecided" otherwise."""
        if any(f.ok is False for f in self.findings):
            return FAILS
        return HOLDS if all(f.ok for f in self.findings) else UNDECIDED

    @property
    def against(self) -> tuple[Finding, ...]:
        """Findings because of which the claim does not hold or is undecided; empty if it holds."""
        return tuple(f for f in self.findings if not f.ok and (self.word != FAILS or f.ok is False))

    @property
    def reason(self) -> str:
        """Text of the findings in `against`; empty if the claim holds."""
        return "; ".join(f"{f.about}: {f.measured}" for f in self.against)


@dataclass(frozen=True)
class Claim:
    """A claim of the paper: its place, its text and its check.

    Parameters
    ----------
    id : str
        Name of the claim in reports and in `claims.json`.
    place : str
        Section, figure or theorem of the paper.
    text : str
        Full statement of the claim.
    short : str
        Statement in a few words.
    figures : tuple of str
        Figures that show it.
    needs : tuple of str
        Stages whose numbers the check uses.
    check : callable
        Function of an `Evidence` that returns the findings.
    rests_on : tuple of str
        Fitted readings that affect these numbers (see `berlyne.paper.claims.fitted`).
    misfit : str
        Section of the report that explains the failure, if several claims fail for the same reason.
    """

    id: str
    place: str
    text: str
    short: str
    figures: tuple[str, ...]
    needs: tuple[str, ...]
    check: Callable[[Evidence], tuple[Finding, ...]]
    rests_on: tuple[str, ...] = ()
    misfit: str = ""

    def verdict(self, evidence: Evidence) -> Verdict:
        """Check the claim on evidence and return the verdict."""
        return Verdict(tuple(self.check(evidence)))

    @property
    def chose(self) -> tuple[str, ...]:
        """Fitted readings that the claim was used to choose; empty if it is independent evidence."""
        return readings_chosen_by(self.id)

    def group(self, word: str) -> str:
        """Return the group that a verdict on this claim is counted in, a key of `GROUP_TEXTS`."""
        return (USED_FOR_FITTING if self.chose else INDEPENDENT) if word == HOLDS else word
