"""Verdicts: number of claims in each group, and one line for every claim."""

from __future__ import annotations

from html import escape

from berlyne.paper.claims import CLAIMS
from berlyne.paper.claims.fitted import FITTED
from berlyne.paper.claims.verdict import GROUP_TEXTS, INDEPENDENT, USED_FOR_FITTING, group_counts, group_text
from berlyne.paper.reproduction.page.context import PageContext
from berlyne.paper.reproduction.page.html import (
    VERDICT_STYLES,
    claim_link,
    flip_links,
    join_html,
    paragraph,
    reading_link,
    section,
    table,
    verdict_html,
)

LEGEND = (
    '<span class="flip effect">⇄ framed</span>: under this variant the verdict flips because an effect leaves the 95 % '
    "confidence interval that it has with the readings of this page, or because it has no interval. "
    '<span class="flip marginal">≈ dotted</span>: the verdict flips marginally, while the effects move within their '
    'intervals. <span class="flip company">≡ dotted</span>: the effect is exactly the same, and the verdict flips '
    "because other strategies in the test changed. The section "
    '<a href="#sensitivity">Sensitivity</a> describes all variants and their changes.'
)


def summary(context: PageContext) -> str:
    """Render the section: number of claims in each group."""
    groups = [context.group(id_) for id_ in context.verdicts]
    counts = {
        group: groups.count(group)
        for group in GROUP_TEXTS
        if group in groups or group in (INDEPENDENT, USED_FOR_FITTING)
    }
    tally = "".join(
        f'<li class="{VERDICT_STYLES[group][0]}"><b>{count}</b> {escape(group_text(group, count))}</li>'
        for group, count in counts.items()
    )
    return section(
        "summary",
        "Verdicts",
        paragraph(
            f"We can check {len(groups)} claims of the paper. In {context.paper_run.n_worlds} worlds of each class, "
            "these are the results:"
        ),
        f'<ul class="tally">{tally}</ul>',
        paragraph(_why_not_independent(context)),
        _too_few_worlds(context),
    )


def tally_text(context: PageContext) -> str:
    """Return the number of claims in each group as one line of text."""
    return "; ".join(group_counts([context.group(id_) for id_ in context.verdicts]))


def _why_not_independent(context: PageContext) -> str:
    independent = [id_ for id_ in context.verdicts if context.group(id_) == INDEPENDENT]
    resting = [id_ for id_ in independent if CLAIMS[id_].rests_on]
    return (
        "The second group is not independent evidence for the paper. The paper leaves settings open. In "
        f"{len(FITTED)} cases we chose a setting because it reproduces published statements. The second group contains "
        "these statements. They hold because we chose the setting for this. The section "
        '<a href="#fitted">Fitted readings</a> lists the choices and the alternatives that we tried. No claim of the '
        f"first group was used for a choice. But {len(resting)} of its {len(independent)} claims were checked with "
        "fitted settings, and the table below names these settings."
    )


def _too_few_worlds(context: PageContext) -> str:
    if not context.too_few_worlds:
        return ""
    return paragraph(
        f"{context.paper_run.n_worlds} worlds of each class are too few: if a difference is not significant, the claim "
        "is undecided. The paper has 200 worlds of each class."
    )


def claims(context: PageContext) -> str:
    """Render the section: one line for every claim."""
    return section(
        "claims",
        "Claims",
        paragraph("D, M and O stand for Dense Worlds, Mazes and 1-2-3 Worlds. " + LEGEND),
        table(
            "Every claim, its verdict, and the variants that flip it",
            ("claim", "verdict", "flipped by", "rests on", "used to choose"),
            [_row(context, id_) for id_ in context.verdicts],
            "claims",
        ),
    )


def _row(context: PageContext, id_: str) -> tuple[str, ...]:
    claim = CLAIMS[id_]
    return (
        f'{claim_link(id_)}<br><span class="small">{escape(claim.short)}</span>',
        verdict_html(context.group(id_)),
        flip_text(context, id_),
        join_html(map(reading_link, claim.rests_on)),
        join_html(map(reading_link, claim.chose)),
    )


def flip_text(context: PageContext, id_: str) -> str:
    """Return links to the variants that flip a verdict, or a note if none does or the claim was not checked again."""
    if not context.is_reevaluated(id_):
        return '<span class="small">not checked again</span>'
    return flip_links(context.flipping_variants(id_)) or '<span class="small">no variant</span>'
