"""Readings that were chosen because published statements come out under them."""

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
from berlyne.paper.reproduction.readings import READINGS


def fitted(context: PageContext) -> str:
    """The section."""
    rows = []
    for reading, fit in FITTED.items():
        silent, done = READINGS[reading]
        resting = [id_ for id_, claim in CLAIMS.items() if reading in claim.rests_on and id_ not in fit.chosen_by]
        rows.append(
            (
                f'<a href="#reading-{reading}"><b>{reading}</b></a>',
                f"{escape(silent)} <b>Done:</b> {escape(done)}",
                text_html(fit.rationale),
                "<br>".join(f"{claim_link(id_)} {_verdict(context, id_)}" for id_ in fit.chosen_by),
                join_html(map(claim_link, resting)),
            )
        )
    return section(
        "fitted",
        "Fitted readings",
        paragraph(
            f"{len(FITTED)} of the {len(READINGS)} readings are fitted: of the settings that the paper leaves open, "
            "one was taken under which published statements come out. That is how one reads a silent paper, and it "
            "costs these statements their weight as evidence."
        ),
        table(
            "What was fitted, by which claims, and what else rests on it",
            ("reading", "what was open", "how it was chosen", "chosen by", "claims that rest on it besides"),
            rows,
        ),
    )


def _verdict(context: PageContext, id_: str) -> str:
    return verdict_html(context.verdicts[id_].word) if id_ in context.verdicts else ""
