"""What becomes of the claims where a reading is read the other way, and how much that says.

A verdict that flips because p moves from just below a level to just above it is not one that flips because a
strategy does something else. Every finding is compared with the same finding as read: by its effect, not by its word.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from berlyne.paper.claims import CLAIMS, Finding, Verdict
from berlyne.paper.claims.compare import p_text
from berlyne.paper.reproduction.variants import VARIANTS, variant_evidence

if TYPE_CHECKING:
    from berlyne.paper.reproduction.paper_run import PaperRun

REEVALUATED = tuple(
    id_ for id_, claim in CLAIMS.items() if claim.needs and set(claim.needs) <= {"explorations", "tasks", "structure"}
)
"""Claims that are asked again: all that rest on explorations, on tasks, or on the structure of worlds."""
AS_READ = "as read"
"""What stands for the readings we follow, beside the variants."""
RANK = 0.1
"""A rank, beside a share: ten are about as much as the whole area."""
EFFECT, MARGINAL, POOL_ONLY = "effect", "hair", "company"
"""How a verdict flips: because an effect leaves its interval as read; while it moves within that; or while it is the
same to the digit, and only other strategies in its test are not."""
FLIPS = {EFFECT: ("⇄", "by an effect"), MARGINAL: ("≈", "by a hair"), POOL_ONLY: ("≡", "by company")}
"""Sign and words of each, those that say most first."""


@dataclass(frozen=True)
class Change:
    """One finding of a claim, as read and otherwise."""

    before: Finding
    after: Finding

    @property
    def effect_change(self) -> float:
        """How much the effect changes, in its unit; 0 where there is none."""
        if self.before.effect is None or self.after.effect is None:
            return 0.0
        return self.after.effect - self.before.effect

    @property
    def size(self) -> float:
        """How large that is, at least 0: 1 is about the whole area, or all ranks there are."""
        return abs(self.effect_change) * (RANK if self.before.unit == "ranks" else 1.0)

    @property
    def flip(self) -> str:
        """Empty unless it is judged otherwise; then EFFECT, HAIR or COMPANY."""
        if self.before.ok == self.after.ok:
            return ""
        low, high, effect = self.before.low, self.before.high, self.after.effect
        inside = low is not None and high is not None and effect is not None and low <= effect <= high
        if not inside:
            return EFFECT
        return POOL_ONLY if effect == self.before.effect else MARGINAL

    @property
    def text(self) -> str:
        """What moved, in words."""
        return f"{self.before.about}: {effect_text(self.before)} → {effect_text(self.after)}"


@dataclass(frozen=True)
class Cell:
    """One claim under one variant."""

    before: Verdict
    after: Verdict

    @property
    def changes(self) -> tuple[Change, ...]:
        """Every finding, as read and otherwise."""
        return tuple(Change(*pair) for pair in zip(self.before.findings, self.after.findings, strict=True))

    @property
    def largest(self) -> Change:
        """The finding whose effect moves most, in shares of an area or of the ranks there are."""
        return max(self.changes, key=lambda change: change.size)

    @property
    def size(self) -> float:
        """How large that change is, at least 0: 1 is about the whole area, or all ranks there are."""
        return self.largest.size

    @property
    def flip(self) -> str:
        """Empty if the verdict is the one as read; else what says most of how its findings flip."""
        if self.before.word == self.after.word:
            return ""
        how = {change.flip for change in self.changes}
        return next((kind for kind in FLIPS if kind in how), MARGINAL)


@lru_cache(maxsize=1)
def cells(paper_run: PaperRun) -> dict[str, dict[str, Cell]]:
    """Every claim under every variant that it is asked again under, by ids: `cells[variant][claim]`."""
    found = {}
    for variant in VARIANTS:
        evidence = variant_evidence(paper_run, variant)
        asked = [id_ for id_ in REEVALUATED if variant.tasks or "tasks" not in CLAIMS[id_].needs]
        found[variant.id] = {id_: Cell(paper_run.verdicts[id_], CLAIMS[id_].verdict(evidence)) for id_ in asked}
    return found


def effect_text(finding: Finding) -> str:
    """An effect in its unit, and the p-value that decides, if there is one."""
    if finding.effect is None:
        return finding.measured
    size = (
        f"{100 * finding.effect:+.1f} %" if finding.unit in SHARES else f"{finding.effect:+.2f} {finding.unit}".strip()
    )
    return size if finding.p is None else f"{size} (p {p_text(finding.p)})"


SHARES = ("area", "gain", "missing information")
"""Units of effects that are shares."""
