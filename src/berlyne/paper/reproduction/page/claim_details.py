"""Evidence: every claim with all findings, tests in every pool of strategies, and the readings it rests on."""

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
    """Render the section."""
    return section(
        "evidence",
        "Evidence",
        paragraph(
            "Open a claim to see all measurements. The column <b>the paper says</b> contains statements and levels "
            "printed in the paper. The column <b>our criterion</b> contains our own threshold if the paper gives "
            "none. The p-value of two strategies depends on the other strategies in the same Friedman test, which the "
            f"paper does not name. We use {_deciding_pool(context)} (reading {reading_link('R16')}). Further columns "
            "show the p-values in other pools. Two strategies are significantly different if Friedman's test of their "
            "pool is significant and the comparison of their mean ranks is significant at the same level."
        ),
        *(_claim(context, id_) for id_ in context.verdicts),
    )


def _deciding_pool(context: PageContext) -> str:
    return {
        "curves": f"the {len(CURVE_POOL)} strategies in the figures of learning curves, and for tasks the "
        f"{len(FIGURE_POOLS['fig8'])} strategies of Fig. 8",
        "figure": "the strategies of the figure alone",
        "all": f"all {len(PAPER_STRATEGIES)} strategies",
    }[context.paper_run.assumptions["pool"]]


def _claim(context: PageContext, id_: str) -> str:
    claim, findings = CLAIMS[id_], context.verdicts[id_].findings
    n_flips = len(context.flipping_variants(id_))
    warning = f'<span class="small">flips under {n_flips} of {len(context.cells)} variants</span>' if n_flips else ""
    summary = f"<h3>{escape(id_)}</h3> {verdict_html(context.group(id_))} <span>{escape(claim.short)}</span> {warning}"
    html = (
        paragraph(f"{text_html(claim.text)} <span class='small'>({escape(claim.place)})</span>")
        + bullets(_notes(context, id_), "small")
        + findings_table(context, findings)
        + _friedman(findings)
    )
    return details(summary, html, f"claim-{id_}", "claim")


def _notes(context: PageContext, id_: str) -> list[str]:
    """Return notes on figures, readings and variants of a claim."""
    claim, variants = CLAIMS[id_], context.flipping_variants(id_)
    notes = [f"Figures: {join_html(map(figure_link, claim.figures))}."] if claim.figures else []
    if claim.rests_on:
        notes.append(f"Rests on fitted readings: {join_html(map(reading_link, claim.rests_on))}.")
    else:
        notes.append("Rests on no fitted reading.")
    if claim.chose:
        notes.append(f"Used to choose {join_html(map(reading_link, claim.chose))}, so not independent evidence.")
    if any(is_misfit(id_, finding) for finding in context.verdicts[id_].against):
        notes.append(f'Reason: <a href="#{claim.misfit}">PLC(VI) against PIG(VI)</a>.')
    if variants:
        notes.append(f"Flips under {flip_links(variants)}")
    elif context.is_reevaluated(id_):
        notes.append("No variant flips the verdict.")
    else:
        notes.append("Not part of the sensitivity analysis.")
    return notes


def findings_table(context: PageContext, findings: tuple[Finding, ...]) -> str:
    """Return a table of findings, with the p-value that decides and those in other pools."""
    other_pools = [pool for pool in POOLS if pool != context.paper_run.assumptions["pool"]]
    pooled = any(finding.pools for finding in findings)
    tested = pooled or any(finding.p is not None for finding in findings)
    heads = ["what", "the paper says", "our criterion", "measured"]
    heads += ["p that decides"] * tested + [f"p, {POOL_NAMES[pool]}" for pool in other_pools] * pooled + ["agrees"]
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
            cells += [p_html(finding.pools[pool].p) if pool in finding.pools else EMPTY_CELL for pool in other_pools]
        rows.append([*cells, agreement_cell(finding.ok)])
    return table("Findings", heads, rows)


def _friedman(findings: tuple[Finding, ...]) -> str:
    """Return Friedman's tests of the pools of the p-values."""
    tested = [finding for finding in findings if finding.friedman is not None]
    if not tested:
        return ""
    lines = []
    for finding in tested:
        if finding.pools:
            tests = "; ".join(
                f"{POOL_NAMES[pool]} {friedman_text(finding.pools[pool].friedman)}"
                for pool in POOLS
                if pool in finding.pools
            )
        else:
            tests = friedman_text(finding.friedman) if finding.friedman is not None else ""
        lines.append(f"{text_html(finding.about)}: {tests}")
    return details("Friedman's tests of these pools", bullets(lines), class_="small")


def friedman_text(test: Friedman) -> str:
    """Return statistic, degrees of freedom and p-value of Friedman's test as HTML."""
    return f"χ²({test.df})&nbsp;=&nbsp;{test.statistic:.1f}, {p_html(test.p)}"
