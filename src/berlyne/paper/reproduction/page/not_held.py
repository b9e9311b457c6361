"""What does not hold, or is undecided: every finding that disagrees, expected against measured, and why."""

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
    """The section; nothing if every claim holds."""
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
        table("Every finding that a verdict fails on or is left open by", HEADS, rows),
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
    """The cause as far as it is known: explained below, too few worlds, or what it takes for the claim to hold."""
    if is_misfit(id_, finding):
        return f'<a href="#{CLAIMS[id_].misfit}">PLC(VI) against PIG(VI)</a>'
    if finding.ok is None:
        return f"{context.paper_run.n_worlds} worlds cannot tell" if context.too_few_worlds else "it cannot be decided"
    turning = context.flipping_variants(id_)
    rests = join_html(map(reading_link, CLAIMS[id_].rests_on))
    if turning:
        return f"rests on {rests}; the verdict is another with {flip_links(turning)}"
    return f"not known; rests on {rests}, and nothing that was read otherwise changes the verdict"
