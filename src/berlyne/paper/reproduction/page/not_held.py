"""What does not hold, or is undecided: every finding that disagrees, expected against measured, and why."""

from __future__ import annotations

from berlyne.paper.claims import CLAIMS, Finding
from berlyne.paper.claims.verdict import FAILS, OPEN
from berlyne.paper.reproduction.page.context import PageContext
from berlyne.paper.reproduction.page.html import (
    NOTHING,
    HtmlCell,
    claim_link,
    flips,
    listed,
    mark,
    reading_link,
    section,
    table,
    text,
)
from berlyne.paper.reproduction.page.misfit import explained, misfit

HEADS = ("claim", "what", "the paper says", "our criterion", "measured", "agrees", "why")


def not_held(shown: PageContext) -> str:
    """The section; nothing if every claim holds."""
    claims = shown.not_held()
    if not claims:
        return ""
    words = {shown.verdicts[id_].word for id_ in claims}
    title = "What does not hold, and why" if words == {FAILS} else "What does not hold or is undecided, and why"
    if words == {OPEN}:
        title = "What is undecided, and why"
    rows = [_row(shown, id_, finding) for id_ in claims for finding in shown.verdicts[id_].against]
    return section(
        "not-held",
        title,
        table("Every finding that a verdict fails on or is left open by", HEADS, rows),
        misfit(shown),
    )


def _row(shown: PageContext, id_: str, finding: Finding) -> tuple[HtmlCell, ...]:
    return (
        claim_link(id_),
        text(finding.about),
        text(finding.expected),
        text(finding.ours) or NOTHING,
        text(finding.measured),
        mark(finding.ok),
        why(shown, id_, finding),
    )


def why(shown: PageContext, id_: str, finding: Finding) -> str:
    """The cause as far as it is known: explained below, too few worlds, or what it takes for the claim to hold."""
    if explained(id_, finding):
        return f'<a href="#{CLAIMS[id_].misfit}">PLC(VI) against PIG(VI)</a>'
    if finding.ok is None:
        return f"{shown.paper_run.n_worlds} worlds cannot tell" if shown.few else "it cannot be decided"
    turning = shown.fragile(id_)
    rests = listed(map(reading_link, CLAIMS[id_].rests_on))
    if turning:
        return f"rests on {rests}; the verdict is another with {flips(turning)}"
    return f"not known; rests on {rests}, and nothing that was read otherwise changes the verdict"
