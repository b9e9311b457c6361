"""The evidence: every claim with every finding, tests in every pool of strategies, and what the verdict rests on."""

from __future__ import annotations

from html import escape

from berlyne.paper.claims import CLAIMS, Finding
from berlyne.paper.claims.compare import POOLS
from berlyne.paper.claims.published import CURVE_POOL, FIGURE_POOLS
from berlyne.paper.reproduction.page.context import PageContext
from berlyne.paper.reproduction.page.html import (
    EMPTY_CELL,
    POOL_NAMES,
    HtmlCell,
    agreement_cell,
    bullets,
    details,
    figure_link,
    flip_links,
    join_html,
    p_html,
    paragraph,
    reading_link,
    section,
    table,
    text_html,
    verdict_html,
)
from berlyne.paper.reproduction.page.misfit import is_misfit
from berlyne.stats import Friedman
from berlyne.strategies.registry import PAPER_STRATEGIES


def evidence(context: PageContext) -> str:
    """The section."""
    return section(
        "evidence",
        "Evidence",
        paragraph(
            "Unfold a claim for all that was measured. <b>The paper says</b> holds statements and levels that are "
            "printed in the paper; <b>our criterion</b> holds thresholds that are ours, because the paper gives none. "
            "A p-value of two strategies depends on the others that enter the same Friedman test, which the paper does "
            f"not name: {_deciding(context)} decide (reading {reading_link('R16')}), and the p-values in other pools "
            "stand beside it. Two strategies count as told apart if Friedman's test of their pool is significant and "
            "then their mean ranks differ, at the same level."
        ),
        *(_claim(context, id_) for id_ in context.verdicts),
    )


def _deciding(context: PageContext) -> str:
    return {
        "curves": f"the {len(CURVE_POOL)} strategies drawn in the figures of learning curves, and in tasks the "
        f"{len(FIGURE_POOLS['fig8'])} of Fig. 8,",
        "figure": "the strategies of the figure alone",
        "all": f"all {len(PAPER_STRATEGIES)} strategies",
    }[context.paper_run.assumptions["pool"]]


def _claim(context: PageContext, id_: str) -> str:
    claim, found = CLAIMS[id_], context.verdicts[id_]
    fragile = context.flipping_variants(id_)
    warning = (
        f'<span class="small">flips with {len(fragile)} of {len(context.cells)} variants</span>' if fragile else ""
    )
    summary = f"<h3>{escape(id_)}</h3> {verdict_html(context.group(id_))} <span>{escape(claim.short)}</span> {warning}"
    inside = (
        paragraph(f"{text_html(claim.text)} <span class='small'>({escape(claim.place)})</span>")
        + bullets(_notes(context, id_), "small")
        + findings_table(context, found.findings)
        + _friedman(context, found.findings)
    )
    return details(summary, inside, f"claim-{id_}", "claim")


def _notes(context: PageContext, id_: str) -> list[str]:
    """What the verdict rests on."""
    claim, fragile = CLAIMS[id_], context.flipping_variants(id_)
    notes = [f"Figures: {join_html(map(figure_link, claim.figures))}."] if claim.figures else []
    if claim.rests_on:
        notes.append(f"Rests on fitted readings: {join_html(map(reading_link, claim.rests_on))}.")
    else:
        notes.append("Rests on no fitted reading.")
    if claim.chose:
        notes.append(f"Helped to choose {join_html(map(reading_link, claim.chose))}: no independent evidence.")
    if any(is_misfit(id_, finding) for finding in context.verdicts[id_].against):
        notes.append(f'Why: <a href="#{claim.misfit}">PLC(VI) against PIG(VI)</a>.')
    if fragile:
        notes.append(f"Flips with {flip_links(fragile)}")
    elif context.is_reevaluated(id_):
        notes.append("Nothing that was read otherwise flips it.")
    else:
        notes.append("Not part of the sensitivity analysis.")
    return notes


def findings_table(context: PageContext, findings: tuple[Finding, ...]) -> str:
    """Every finding, with the p-value that decides and those in other pools."""
    others = [pool for pool in POOLS if pool != context.paper_run.assumptions["pool"]]
    pooled = any(finding.pools for finding in findings)
    tested = pooled or any(finding.p is not None for finding in findings)
    heads = ["what", "the paper says", "our criterion", "measured"]
    heads += ["p that decides"] * tested + [f"p, {POOL_NAMES[pool]}" for pool in others] * pooled + ["agrees"]
    rows = []
    for finding in findings:
        cells: list[HtmlCell] = [
            text_html(finding.about),
            text_html(finding.expected),
            text_html(finding.ours) or EMPTY_CELL,
            text_html(finding.measured),
        ]
        if tested:
            cells.append(p_html(finding.p))
        if pooled:
            cells += [p_html(finding.pools[pool].p) if pool in finding.pools else EMPTY_CELL for pool in others]
        rows.append([*cells, agreement_cell(finding.ok)])
    return table("Findings", heads, rows)


def _friedman(context: PageContext, findings: tuple[Finding, ...]) -> str:
    """Friedman's tests of the pools that the p-values are from."""
    tested = [finding for finding in findings if finding.friedman is not None]
    if not tested:
        return ""
    lines = []
    for finding in tested:
        if finding.pools:
            said = "; ".join(
                f"{POOL_NAMES[pool]} {friedman_text(finding.pools[pool].friedman)}"
                for pool in POOLS
                if pool in finding.pools
            )
        else:
            said = friedman_text(finding.friedman) if finding.friedman is not None else ""
        lines.append(f"{text_html(finding.about)}: {said}")
    return details("Friedman's tests of these pools", bullets(lines), class_="small")


def friedman_text(test: Friedman) -> str:
    """Friedman's test as it is written everywhere."""
    return f"χ²({test.df})&nbsp;=&nbsp;{test.statistic:.1f}, {p_html(test.p)}"
