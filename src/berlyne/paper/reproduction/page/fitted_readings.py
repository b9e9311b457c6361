"""Readings that were chosen because they reproduce published statements."""

from __future__ import annotations

from html import escape

from berlyne.paper.claims import CLAIMS
from berlyne.paper.claims.fitted import FITTED
from berlyne.paper.reproduction.page.context import PageContext
from berlyne.paper.reproduction.page.html import (
    claim_link,
    join_html,
    paragraph,
    section,
    table,
    text_html,
    verdict_html,
)
from berlyne.paper.reproduction.paper_text import READINGS


def fitted(context: PageContext) -> str:
    """Render the section."""
    rows = []
    for reading, fit in FITTED.items():
        gap, choice = READINGS[reading]
        resting = [id_ for id_, claim in CLAIMS.items() if reading in claim.rests_on and id_ not in fit.chosen_by]
        rows.append(
            (
                f'<a href="#reading-{reading}"><b>{reading}</b></a>',
                f"{escape(gap)} <b>Our choice:</b> {escape(choice)}",
                text_html(fit.rationale),
                "<br>".join(f"{claim_link(id_)} {_verdict(context, id_)}" for id_ in fit.chosen_by),
                join_html(map(claim_link, resting)),
            )
        )
    return section(
        "fitted",
        "Fitted readings",
        paragraph(
            f"{len(FITTED)} of the {len(READINGS)} readings are fitted: among the settings that the paper leaves open, "
            "we chose one that reproduces published statements. Without such a choice the paper cannot be reproduced. "
            "But because of the choice, these statements are not independent evidence for the paper."
        ),
        table(
            "Fitted readings, the claims that chose them, and other claims that rest on them",
            ("reading", "open in the paper", "how it was chosen", "chosen by", "other claims that rest on it"),
            rows,
        ),
    )


def _verdict(context: PageContext, id_: str) -> str:
    return verdict_html(context.verdicts[id_].word) if id_ in context.verdicts else ""
