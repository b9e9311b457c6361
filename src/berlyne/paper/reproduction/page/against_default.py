"""What changes against the default, if something else is assumed."""

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
    """The section; nothing for the default."""
    changed = context.paper_run.assumptions.changed
    if not changed:
        return ""
    cells = {id_: DefaultComparison(context.default_verdicts[id_], found) for id_, found in context.verdicts.items()}
    differing = {id_: cell for id_, cell in cells.items() if cell.flip}
    rows: list[tuple[HtmlCell, ...]] = [
        (
            f"<code>{escape(key)}</code>",
            escape(KEYS[key].text),
            escape(format_value(KEYS[key].default)),
            f"<b>{escape(format_value(value))}</b>",
            reading_link(KEYS[key].reading) if KEYS[key].reading else "the paper says the default",
        )
        for key, value in changed.items()
    ]
    heads = ("claim", "verdict, default → here", "what moved, default → here")
    every = table(
        "Every claim",
        heads,
        [(claim_link(id_), verdict_change_html(cell), _moves(cell)) for id_, cell in cells.items()],
    )
    return section(
        "changes",
        "What changes against the default",
        paragraph(
            "All on this page is worked out under other assumptions than the default; the default was worked out "
            "beside it, in worlds of the same number and seed. The command was "
            f"<code>{escape(command(changed))}</code>."
        ),
        table("What is assumed otherwise", ("key", "what it is", "default", "here", "reading"), rows),
        paragraph(f"<b>{count_flips(differing.values())}</b> against the default."),
        bullets([*flip_lines(differing), *changed_finding_lines(cells)]),
        paragraph(largest_change_html(cells)),
        details("Every claim, with every effect before and after", every),
    )


@dataclass(frozen=True)
class DefaultComparison(Cell):
    """One claim under the default and here, where other assumptions may make for other findings."""

    @property
    def changes(self) -> tuple[Change, ...]:
        """The findings in pairs: as they come, or by what they are about if one side has more of them."""
        if len(self.before.findings) == len(self.after.findings):
            return super().changes
        there = {finding.about: finding for finding in self.before.findings}
        return tuple(Change(there[f.about], f) for f in self.after.findings if f.about in there)

    @property
    def alone(self) -> tuple[list[Finding], list[Finding]]:
        """Findings that have no counterpart: of the default, and of this page."""
        paired = [id(finding) for change in self.changes for finding in (change.before, change.after)]
        before, after = ([f for f in v.findings if id(f) not in paired] for v in (self.before, self.after))
        return before, after

    @property
    def flip(self) -> str:
        """As for a variant; findings without a counterpart are an effect."""
        return EFFECT if super().flip and any(self.alone) else super().flip


def _moves(cell: DefaultComparison) -> str:
    """Every finding that moved, and those without a counterpart."""
    sides = zip(("only under the default", "only here"), cell.alone, strict=True)
    alone = [f"{side}: {text_html(f'{f.about}: {effect_text(f)}')}" for side, found in sides for f in found]
    return moved_findings_html(cell) + bullets(alone) if cell.changes or not alone else bullets(alone)
