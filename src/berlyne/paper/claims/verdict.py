"""What a claim is, and what can be said of it."""

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
"""What claims are counted by, and how to say it of several: a claim is no evidence if a reading was chosen for it."""


def group_text(group: str, count: int) -> str:
    """What is said of so many claims of a group."""
    return (f"is {group}" if group == UNDECIDED else group) if count == 1 else GROUP_TEXTS[group]


def group_counts(groups: Sequence[str]) -> list[str]:
    """How many claims there are of each group, in words."""
    counts = {group: groups.count(group) for group in GROUP_TEXTS if group in groups}
    return [f"{count} {group_text(group, count)}" for group, count in counts.items()]


class PoolComparison(NamedTuple):
    """Two strategies among those of a pool.

    slower : whether the first has the higher mean rank.
    p : p-value of their mean ranks.
    friedman : the test of the whole pool.
    """

    slower: bool
    p: float
    friedman: Friedman

    def differ(self, alpha: float) -> bool:
        """Whether the pool is not all alike, and these two are among those that differ."""
        return self.friedman.p < alpha and self.p < alpha


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at for a claim.

    about : what, for instance "Mazes: Random against Unembodied".
    expected : what the paper says of it.
    measured : what came out, in words and numbers.
    ok : whether that agrees; None if it cannot be decided.
    ours : the criterion by which it does, where that is ours and not the paper's.
    effect, low, high : size of the effect with a 95 % confidence interval, where there is one.
    unit : of these: "area", a share; "ranks"; or what else it is.
    p : p-value that decides, if one does.
    pools : the same comparison in every pool of strategies (reading R16).
    friedman : Friedman's test that comes before the p-value of a pair.
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


@dataclass(frozen=True)
class Verdict:
    """What came of checking a claim: the findings, and what they amount to."""

    findings: tuple[Finding, ...]

    @property
    def word(self) -> str:
        """Holds if all findings agree, does not hold if any disagrees, undecided otherwise."""
        if any(f.ok is False for f in self.findings):
            return FAILS
        return HOLDS if all(f.ok for f in self.findings) else UNDECIDED

    @property
    def against(self) -> tuple[Finding, ...]:
        """The findings for which it does not hold, or is undecided; none if it holds."""
        return tuple(f for f in self.findings if not f.ok and (self.word != FAILS or f.ok is False))

    @property
    def reason(self) -> str:
        """The same in words."""
        return "; ".join(f"{f.about}: {f.measured}" for f in self.against)


@dataclass(frozen=True)
class Claim:
    """A claim of the paper: where it is made, what it says, and how it is checked.

    place : where in the paper.
    short : the text in a few words.
    figures : the figures that show it; `needs` names the stages whose numbers it is checked on.
    rests_on : fitted readings that decide the numbers it is checked on (see `berlyne.paper.claims.fitted`).
    misfit : the section of the report that explains why it does not hold, if it has a cause in common with others.
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
        """Check the claim on evidence, stored or invented."""
        return Verdict(tuple(self.check(evidence)))

    @property
    def chose(self) -> tuple[str, ...]:
        """The fitted readings that it helped to choose; none if it is independent evidence."""
        return readings_chosen_by(self.id)

    def group(self, word: str) -> str:
        """What a verdict on it counts as, one of `GROUP_TEXTS`."""
        return (USED_FOR_FITTING if self.chose else INDEPENDENT) if word == HOLDS else word
