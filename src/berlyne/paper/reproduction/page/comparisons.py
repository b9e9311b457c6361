"""Changes of verdicts and findings, under variants of the readings and against the default."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from berlyne.paper.claims import Finding
from berlyne.paper.reproduction.page.context import PageContext
from berlyne.paper.reproduction.robustness import EFFECT, FLIPS, Cell, Change, effect_text


@dataclass(frozen=True)
class DefaultComparison(Cell):
    """Verdicts on one claim under the default and here; changed assumptions can lead to different findings."""

    @property
    def changes(self) -> tuple[Change, ...]:
        """Pairs of findings, in order, or by their subject if the numbers of findings differ."""
        if len(self.before.findings) == len(self.after.findings):
            return super().changes
        before = {finding.about: finding for finding in self.before.findings}
        return tuple(Change(before[f.about], f) for f in self.after.findings if f.about in before)

    @property
    def unpaired(self) -> tuple[list[Finding], list[Finding]]:
        """Findings without a counterpart: those of the default, and those of this page."""
        paired = [id(finding) for change in self.changes for finding in (change.before, change.after)]
        before, after = ([f for f in v.findings if id(f) not in paired] for v in (self.before, self.after))
        return before, after

    @property
    def flip(self) -> str:
        """Kind of flip, as for a variant; EFFECT if a finding has no counterpart."""
        return EFFECT if super().flip and any(self.unpaired) else super().flip


def default_comparisons(context: PageContext) -> dict[str, DefaultComparison]:
    """Return the verdicts under the default and here, by claim."""
    return {id_: DefaultComparison(context.default_verdicts[id_], after) for id_, after in context.verdicts.items()}


def flipped_cells(cells: Mapping[str, Cell]) -> dict[str, Cell]:
    """Return the claims whose verdicts flip."""
    return {id_: cell for id_, cell in cells.items() if cell.flip}


def count_flips(flipped: Iterable[Cell]) -> str:
    """Return the number of verdicts that flip, by kind, as text."""
    kinds = [cell.flip for cell in flipped]
    if not kinds:
        return "no verdict flips"
    counts = [f"{kinds.count(kind)} {reason}" for kind, (_, reason) in FLIPS.items() if kind in kinds]
    return f"{len(kinds)} verdict{'s' * (len(kinds) > 1)} flip{'s' * (len(kinds) == 1)}: {', '.join(counts)}"


def flipped_findings(cell: Cell) -> list[Change]:
    """Return the findings that agree with the paper in one case only."""
    return [change for change in cell.changes if change.flip]


def changed_findings(cell: Cell) -> list[Change]:
    """Return the findings whose effect or p-value changes in its printed digits."""
    return [change for change in cell.changes if effect_text(change.before) != effect_text(change.after)]


def change_text(change: Change) -> str:
    """Return one finding before and after as text."""
    if change.before.about == change.after.about:
        return change.text
    return " → ".join(f"{finding.about}: {effect_text(finding)}" for finding in (change.before, change.after))


def largest_change(cells: Mapping[str, Cell]) -> tuple[str, Change] | None:
    """Return claim and finding with the largest change of a difference of areas or, if there is none, of ranks."""
    for unit in ("area", "ranks"):
        changes = [
            (id_, change)
            for id_, cell in cells.items()
            for change in changed_findings(cell)
            if change.before.unit == unit and change.effect_change
        ]
        if changes:
            return max(changes, key=lambda item: abs(item[1].effect_change))
    return None
