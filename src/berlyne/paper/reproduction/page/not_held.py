"""Claims that do not hold or are undecided: every finding that disagrees, with its cause."""

from __future__ import annotations

from berlyne.paper.claims import CLAIMS, Finding
from berlyne.paper.claims.verdict import FAILS, UNDECIDED
from berlyne.paper.reproduction.page.context import PageContext
from berlyne.paper.reproduction.page.html import (
    EMPTY_CELL,
    HtmlCell,
    agreement_cell,
    claim_link,
    flip_links,
    join_html,
    reading_link,
    section,
    table,
    text_html,
)
from berlyne.paper.reproduction.page.misfit import is_misfit, misfit

HEADS = ("claim", "what", "the paper says", "our criterion", "measured", "agrees", "why")


def not_held(context: PageContext) -> str:
    """Render the section; empty if every claim holds."""
    claims = context.not_held()
    if not claims:
        return ""
    words = {context.verdicts[id_].word for id_ in claims}
    title = "What does not hold, and why" if words == {FAILS} else "What does not hold or is undecided, and why"
    if words == {UNDECIDED}:
        title = "What is undecided, and why"
    rows = [_row(context, id_, finding) for id_ in claims for finding in context.verdicts[id_].against]
    return section(
        "not-held",
        title,
        table(
            "Findings that disagree or are undecided, of every claim that does not hold or is undecided", HEADS, rows
        ),
        misfit(context),
    )


def _row(context: PageContext, id_: str, finding: Finding) -> tuple[HtmlCell, ...]:
    return (
        claim_link(id_),
        text_html(finding.about),
        text_html(finding.expected),
        text_html(finding.ours) or EMPTY_CELL,
        text_html(finding.measured),
        agreement_cell(finding.ok),
        why(context, id_, finding),
    )


def why(context: PageContext, id_: str, finding: Finding) -> str:
    """Return the cause if it is known: the misfit, too few worlds, or the variants that change the verdict."""
    if is_misfit(id_, finding):
        return f'<a href="#{CLAIMS[id_].misfit}">PLC(VI) against PIG(VI)</a>'
    if finding.ok is None:
        n_worlds = context.paper_run.n_worlds
        return f"{n_worlds} worlds are too few" if context.too_few_worlds else "cannot be decided"
    variants = context.flipping_variants(id_)
    readings = join_html(map(reading_link, CLAIMS[id_].rests_on))
    if variants:
        return f"rests on {readings}; the verdict changes with {flip_links(variants)}"
    return f"unknown; rests on {readings}, and no variant changes the verdict"
