"""Changes against the default, if the assumptions are changed."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from berlyne.paper.claims import Finding
from berlyne.paper.reproduction.assumptions import KEYS
from berlyne.paper.reproduction.page.context import PageContext, command, format_value
from berlyne.paper.reproduction.page.html import (
    HtmlCell,
    bullets,
    claim_link,
    details,
    paragraph,
    reading_link,
    section,
    table,
    text_html,
)
from berlyne.paper.reproduction.page.variant_effects import (
    changed_finding_lines,
    count_flips,
    flip_lines,
    largest_change_html,
    moved_findings_html,
    verdict_change_html,
)
from berlyne.paper.reproduction.robustness import EFFECT, Cell, Change, effect_text


def against_default(context: PageContext) -> str:
    """Render the section; empty for the default."""
    changed = context.paper_run.assumptions.changed
    if not changed:
        return ""
    cells = {id_: DefaultComparison(context.default_verdicts[id_], after) for id_, after in context.verdicts.items()}
    flipped = {id_: cell for id_, cell in cells.items() if cell.flip}
    rows: list[tuple[HtmlCell, ...]] = [
        (
            f"<code>{escape(key)}</code>",
            escape(KEYS[key].text),
            escape(format_value(KEYS[key].default)),
            f"<b>{escape(format_value(value))}</b>",
            reading_link(KEYS[key].reading) if KEYS[key].reading else "the default is as in the paper",
        )
        for key, value in changed.items()
    ]
    claim_table = table(
        "Every claim",
        ("claim", "verdict, default → here", "changes, default → here"),
        [(claim_link(id_), verdict_change_html(cell), _changes_html(cell)) for id_, cell in cells.items()],
    )
    return section(
        "changes",
        "What changes against the default",
        paragraph(
            "The results on this page use changed assumptions. For comparison, the claims were also checked under the "
            "default, with the same number of worlds and the same seed. The command was "
            f"<code>{escape(command(changed))}</code>."
        ),
        table("Changed assumptions", ("key", "meaning", "default", "here", "reading"), rows),
        paragraph(f"<b>{count_flips(flipped.values())}</b> against the default."),
        bullets([*flip_lines(flipped), *changed_finding_lines(cells)]),
        paragraph(largest_change_html(cells)),
        details("Every claim, with every effect before and after", claim_table),
    )


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


def _changes_html(cell: DefaultComparison) -> str:
    """Return every finding that changed, and those without a counterpart."""
    sides = zip(("only under the default", "only here"), cell.unpaired, strict=True)
    lines = [f"{side}: {text_html(f'{f.about}: {effect_text(f)}')}" for side, findings in sides for f in findings]
    return moved_findings_html(cell) + bullets(lines) if cell.changes or not lines else bullets(lines)
