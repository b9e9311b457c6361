"""The verdicts: counted by what they are worth, and one line for every claim."""

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
    '<span class="flip effect">⇄ framed</span>: read so, the verdict flips because an effect leaves its 95 % '
    'confidence interval as read, or has none. <span class="flip hair">≈ dotted</span>: it flips by a hair, while each '
    'effect moves within its interval. <span class="flip company">≡ dotted</span>: it flips by company; the effect is '
    "the same to the digit, and only other strategies in its test are not. What was read otherwise, and what moved, "
    "stands under "
    '<a href="#sensitivity">Sensitivity</a>.'
)


def summary(context: PageContext) -> str:
    """The section."""
    groups = [context.group(id_) for id_ in context.verdicts]
    tally = "".join(
        f'<li class="{VERDICT_STYLES[group][0]}"><b>{groups.count(group)}</b> {escape(group_text(group, groups.count(group)))}</li>'
        for group in GROUP_TEXTS
        if group in groups or group in (INDEPENDENT, USED_FOR_FITTING)
    )
    return section(
        "summary",
        "Verdicts",
        paragraph(
            f"{len(groups)} claims of the paper can be checked. Of these, in {context.paper_run.n_worlds} worlds of each "
            "class:"
        ),
        f'<ul class="tally">{tally}</ul>',
        paragraph(_why_not_independent(context)),
        _few(context),
    )


def tally_text(context: PageContext) -> str:
    """The same in a line."""
    return "; ".join(group_counts([context.group(id_) for id_ in context.verdicts]))


def _why_not_independent(context: PageContext) -> str:
    first = [id_ for id_ in context.verdicts if context.group(id_) == INDEPENDENT]
    resting = [id_ for id_ in first if CLAIMS[id_].rests_on]
    return (
        "The second group is no independent evidence for the paper. The paper leaves settings open, and "
        f"{len(FITTED)} times we took one under which published statements come out. These are the statements: that "
        "they hold was a condition of the choice. The choices, and what else was tried, are listed under "
        '<a href="#fitted">'
        f"Fitted readings</a>. The first group served no choice; but {len(resting)} of its {len(first)} claims were "
        "checked with settings so chosen, and the table says with which."
    )


def _few(context: PageContext) -> str:
    if not context.too_few_worlds:
        return ""
    return paragraph(
        f"With {context.paper_run.n_worlds} worlds of each class, strategies that are not told apart decide nothing: "
        "such claims are undecided. The paper has 200 worlds of each class."
    )


def claims(context: PageContext) -> str:
    """One line for every claim."""
    return section(
        "claims",
        "Claims",
        paragraph("D, M and O stand for Dense Worlds, Mazes and 1-2-3 Worlds. " + LEGEND),
        table(
            "Every claim, what its verdict counts as, and what would flip it",
            ("claim", "verdict", "what flips it", "rests on", "helped to choose"),
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
    """What flips a verdict; that nothing does; or that it was not asked."""
    if not context.is_reevaluated(id_):
        return '<span class="small">not asked again</span>'
    return flip_links(context.flipping_variants(id_)) or '<span class="small">nothing that was tried</span>'
