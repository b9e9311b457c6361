"""Explanation of one misfit: PLC(VI) is almost as good as PIG(VI) in 1-2-3 Worlds, against three claims."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from itertools import combinations

from berlyne.models.internal_model import InternalModel
from berlyne.paper.claims import CLAIMS, Finding
from berlyne.paper.claims.compare import POOLS
from berlyne.paper.reproduction.page.context import VARIANT_TEXTS, PageContext
from berlyne.paper.reproduction.page.html import (
    EMPTY_CELL,
    POOL_NAMES,
    claim_link,
    details,
    join_html,
    p_html,
    paragraph,
    table,
    text_html,
)
from berlyne.paper.reproduction.robustness import effect_text
from berlyne.priors import OneTwoThree
from berlyne.strategies.utilities import pig, plc
from berlyne.validation import FloatArray

ID = "plc"
"""Name of the misfit in `Claim.misfit`, and its id on the page."""
PAIR = "PLC(VI) against PIG(VI)"
"""Part of the subject of findings that compare the two strategies by area."""
MISFIT_MEASURES = {"utilities": "missing information", "l1": "L1 distance"}
"""Measure of the area by which a claim compares the two strategies."""


def is_misfit(id_: str, finding: Finding) -> bool:
    """Return whether the misfit explains a finding."""
    return CLAIMS[id_].misfit == ID and "PLC(VI)" in finding.about


@dataclass(frozen=True)
class RowKind:
    """A kind of transition distribution of a 1-2-3 World.

    Attributes
    ----------
    action : int
        Number of the action, from 1.
    n_seen : int
        Number of targets seen.
    first : bool
        Whether state 1 is among them.
    pig, plc : float
        Utilities of one more observation; PIG is in bits.
    """

    action: int
    n_seen: int
    first: bool
    pig: float
    plc: float

    @property
    def text(self) -> str:
        """Targets seen, as text."""
        if not self.n_seen:
            return "none"
        return f"{self.n_seen}, {'state 1 among them' if self.first else 'not state 1'}"


def row_kinds(prior: OneTwoThree) -> tuple[RowKind, ...]:
    """Return every kind of transition distribution of 1-2-3 Worlds, with its PIG and PLC."""
    return tuple(_kinds(prior))


def _kinds(prior: OneTwoThree) -> Iterator[RowKind]:
    for a in range(prior.n_actions):
        for n_seen in range(a + 2):
            for first in (False, True)[: 1 + (n_seen > 0)]:
                model = InternalModel(prior)
                seen = range(n_seen) if first else range(1, 1 + n_seen)  # state 1 has index 0
                model.observe_many([(0, a, s_next) for s_next in seen])
                yield RowKind(a + 1, n_seen, first, float(pig(model)[a, 0]), float(plc(model)[a, 0]))


def misfit(context: PageContext) -> str:
    """Render the explanation; empty if no claim fails or is undecided because of the misfit."""
    claims = [
        id_ for id_ in context.not_held() if any(is_misfit(id_, finding) for finding in context.verdicts[id_].against)
    ]
    if not claims:
        return ""
    prior = context.paper_run.world("1-2-3", 0).prior
    assert isinstance(prior, OneTwoThree)
    kinds = row_kinds(prior)
    return (
        f'<h3 id="{ID}">One misfit: PLC(VI) against PIG(VI)</h3>'
        + paragraph(_lead(context, claims))
        + _measured(context)
        + paragraph(_order_text(kinds))
        + details("PIG and PLC of every kind of transition distribution", _kind_table(kinds, prior.n_states))
        + paragraph(_over_variants(context))
        + ("" if context.paper_run.assumptions.changed else paragraph(_over_800()))
    )


def _lead(context: PageContext, claims: list[str]) -> str:
    undecided = context.too_few_worlds
    subject = "One claim" if len(claims) == 1 else f"{['', '', 'Two', 'Three'][len(claims)]} claims"
    verb = ("is" if len(claims) == 1 else "are") if undecided else ("fails" if len(claims) == 1 else "fail")
    result = (
        f"{context.paper_run.n_worlds} worlds are too few to decide this."
        if undecided
        else "Our results do not reproduce this."
    )
    return (
        f"{subject} ({join_html(map(claim_link, claims))}) {verb} {'undecided ' * undecided}for one reason. In the "
        "paper, PLC(VI) is significantly slower than PIG(VI) in 1-2-3 Worlds, and also slower there by L1 distance. "
        "And PIG(VI) is the only strategy among the best in every task and class. So PLC(VI) must be worse in one of "
        f"them; the paper does not name it. {result}"
    )


def pair_finding(findings: tuple[Finding, ...]) -> Finding | None:
    """Return the finding that compares the two strategies by area."""
    return next((finding for finding in findings if PAIR in finding.about), None)


def _measured(context: PageContext) -> str:
    rows = []
    for id_, measure in MISFIT_MEASURES.items():
        finding = pair_finding(context.verdicts[id_].findings) if id_ in context.verdicts else None
        if finding is not None:
            ps = [p_html(finding.pools[pool].p) if pool in finding.pools else EMPTY_CELL for pool in POOLS]
            rows.append((f"1-2-3 Worlds, area of {measure}", _interval(finding), *ps))
    rows += [
        (
            "tasks, worst class and task of PLC(VI)",
            text_html(finding.measured),
            p_html(finding.p),
            EMPTY_CELL,
            EMPTY_CELL,
        )
        for finding in (context.verdicts["tasks-only"].findings if "tasks-only" in context.verdicts else ())
        if finding.about.startswith("PLC(VI)")
    ]
    heads = ("PLC(VI) against PIG(VI)", "difference [95 %]", *(f"p, {POOL_NAMES[pool]}" for pool in POOLS))
    among = POOL_NAMES["all"] if context.paper_run.assumptions["pool"] == "all" else "the strategies of Fig. 8"
    return table(f"In this reproduction; the p-value of tasks is computed among {among}", heads, rows)


def _interval(finding: Finding) -> str:
    if finding.effect is None or finding.low is None or finding.high is None:
        return escape(effect_text(finding))
    return f"{100 * finding.effect:+.1f} % [{100 * finding.low:+.1f}, {100 * finding.high:+.1f}]"


def same_order(kinds: list[RowKind]) -> tuple[int, int]:
    """Return the number of pairs of kinds that both utilities put in the same order, and the number of all pairs."""
    pairs = [(a.pig - b.pig) * (a.plc - b.plc) for a, b in combinations(kinds, 2)]
    return sum(product > 0 for product in pairs), len(pairs)


def _order_text(kinds: tuple[RowKind, ...]) -> str:
    from scipy.stats import spearmanr

    unknown = [kind for kind in kinds if kind.pig > 0]
    same, pairs = same_order(unknown)
    correlation = float(spearmanr([k.pig for k in unknown], [k.plc for k in unknown]).statistic)
    overall = float(spearmanr([k.pig for k in kinds], [k.plc for k in kinds]).statistic)
    return (
        "There is a reason to expect that the two strategies are close. In a 1-2-3 World, the information that an "
        "agent can still gain about an action in a state depends on three things only: the action, the number of its "
        f"targets that were seen, and whether state 1 is among them. This gives {len(kinds)} kinds of transition "
        f"distributions. {len(kinds) - len(unknown)} of them are fully known, and both utilities are 0. The other "
        f"{len(unknown)} form {pairs} pairs, and PIG and PLC put {same} of these in the same order (rank correlation "
        f"{correlation:.2f}; {overall:.2f} including the fully known kinds). So of two possible observations, both "
        "utilities usually prefer the same one. They differ in how much they prefer it. This matters because value "
        "iteration adds up utilities."
    )


def _ranks(values: list[float]) -> FloatArray:
    """Return ranks; 1 is the largest value."""
    from scipy.stats import rankdata

    return rankdata([-value for value in values])


def _kind_table(kinds: tuple[RowKind, ...], n_states: int) -> str:
    ranked = sorted(kinds, key=lambda kind: -kind.pig)
    ranks = zip(_ranks([k.pig for k in ranked]), _ranks([k.plc for k in ranked]), strict=True)
    rows = [
        (f"action {k.action}", escape(k.text), f"{k.pig:.3f}", f"{k.plc:.4f}", f"{by_pig:g}", f"{by_plc:g}")
        for k, (by_pig, by_plc) in zip(ranked, ranks, strict=True)
    ]
    heads = ("action", "targets seen", "PIG (bits)", "PLC", "rank by PIG", "rank by PLC")
    return table(
        f"A 1-2-3 World with {n_states} states; rank 1 is the largest value, and equal values share a rank", heads, rows
    )


def _over_variants(context: PageContext) -> str:
    ranges = []
    for id_, measure in MISFIT_MEASURES.items():
        findings = {
            variant: pair_finding(by_claim[id_].after.findings)
            for variant, by_claim in context.cells.items()
            if id_ in by_claim
        }
        measured = {v: f for v, f in findings.items() if f is not None and f.effect is not None}
        if not measured:
            continue
        sizes = {v: float(f.effect or 0.0) for v, f in measured.items()}
        low, high = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
        ranges.append(
            f"of {measure} is between {100 * sizes[low]:+.1f} % ({escape(VARIANT_TEXTS[low])}) and "
            f"{100 * sizes[high]:+.1f} % ({escape(VARIANT_TEXTS[high])}); the smallest p-value is "
            f"{p_html(min(f.p for f in measured.values() if f.p is not None))}"
        )
    if not ranges:
        return ""
    return (
        f'In the {len(context.cells)} variants of the <a href="#sensitivity">sensitivity analysis</a>, the difference '
        f"of the areas {'. The difference of the areas '.join(ranges)}."
    )


def _over_800() -> str:
    return (
        "Over 800 worlds, the area of PLC(VI) is 3.4 ± 0.4 % larger than that of PIG(VI), and it is larger in 61 % of "
        "worlds. The L1 area is 0.1 ± 0.4 % larger (± one standard error). This does not change with run lengths from "
        "100 to 3000 steps, 1 to 50 steps back, discounts of 0.5 and 0.95, ties to the first action, the printed "
        "estimate, or L2 or maximum norms instead of L1. These runs are not part of this reproduction."
    )
