"""One misfit, explained once: PLC(VI) is almost level with PIG(VI) in 1-2-3 Worlds, and three claims say otherwise."""

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
"""The misfit's name in `Claim.misfit`, and its id on the page."""
PAIR = "PLC(VI) against PIG(VI)"
MISFIT_MEASURES = {"utilities": "missing information", "l1": "L1 distance"}
"""The claims that compare the two by area, and the area of what."""


def is_misfit(id_: str, finding: Finding) -> bool:
    """Whether a finding is an instance of the misfit."""
    return CLAIMS[id_].misfit == ID and "PLC(VI)" in finding.about


@dataclass(frozen=True)
class RowKind:
    """A kind of transition distribution of a 1-2-3 World: its action, and what was seen of it.

    n_seen : number of targets seen; first : whether state 1 is among them.
    """

    action: int
    n_seen: int
    first: bool
    pig: float
    plc: float

    @property
    def text(self) -> str:
        """What was seen, in words."""
        if not self.n_seen:
            return "none"
        return f"{self.n_seen}, {'state 1 among them' if self.first else 'not state 1'}"


def row_kinds(prior: OneTwoThree) -> tuple[RowKind, ...]:
    """Every kind of transition distribution that a 1-2-3 World can show, with what the two utilities make of it."""
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
    """The explanation; nothing if no claim fails, or is left open, by it."""
    found = [
        id_ for id_ in context.not_held() if any(is_misfit(id_, finding) for finding in context.verdicts[id_].against)
    ]
    if not found:
        return ""
    prior = context.paper_run.world("1-2-3", 0).prior
    assert isinstance(prior, OneTwoThree)
    known = row_kinds(prior)
    return (
        f'<h3 id="{ID}">One misfit: PLC(VI) against PIG(VI)</h3>'
        + paragraph(_lead(context, found))
        + _measured(context)
        + paragraph(_orders(known))
        + details("PIG and PLC of every kind of transition distribution", _kind_table(known, prior.n_states))
        + paragraph(_over_variants(context))
        + ("" if context.paper_run.assumptions.changed else paragraph(_over_800()))
    )


def _lead(context: PageContext, found: list[str]) -> str:
    many = "One claim" if len(found) == 1 else f"{['', '', 'Two', 'Three'][len(found)]} claims"
    here = (
        f"{context.paper_run.n_worlds} worlds cannot decide it."
        if context.too_few_worlds
        else "Here that does not come out."
    )
    return (
        f"{many} ({join_html(map(claim_link, found))}), one reason. In the paper, PLC(VI) is significantly slower than "
        "PIG(VI) in 1-2-3 Worlds, still slower there by L1 distance, and PIG(VI) is the only strategy among the best "
        "in every task and class, so that PLC(VI) must fall behind in one of them; the paper does not say in which. "
        f"{here}"
    )


def pair_finding(findings: tuple[Finding, ...]) -> Finding | None:
    """The finding that compares the two by area."""
    return next((finding for finding in findings if PAIR in finding.about), None)


def _measured(context: PageContext) -> str:
    rows = []
    for id_, measure in MISFIT_MEASURES.items():
        finding = pair_finding(context.verdicts[id_].findings) if id_ in context.verdicts else None
        if finding is not None:
            ps = [p_html(finding.pools[pool].p) if pool in finding.pools else EMPTY_CELL for pool in POOLS]
            rows.append((f"1-2-3 Worlds, area of {measure}", _interval(finding), *ps))
    rows += [
        ("tasks, where PLC(VI) is worst off", text_html(finding.measured), p_html(finding.p), EMPTY_CELL, EMPTY_CELL)
        for finding in (context.verdicts["tasks-only"].findings if "tasks-only" in context.verdicts else ())
        if finding.about.startswith("PLC(VI)")
    ]
    heads = ("PLC(VI) against PIG(VI)", "difference [95 %]", *(f"p, {POOL_NAMES[pool]}" for pool in POOLS))
    among = POOL_NAMES["all"] if context.paper_run.assumptions["pool"] == "all" else "the strategies of Fig. 8"
    return table(f"In this study; the p-value of tasks is among {among}", heads, rows)


def _interval(finding: Finding) -> str:
    if finding.effect is None or finding.low is None or finding.high is None:
        return escape(effect_text(finding))
    return f"{100 * finding.effect:+.1f} % [{100 * finding.low:+.1f}, {100 * finding.high:+.1f}]"


def same_order(found: list[RowKind]) -> tuple[int, int]:
    """Pairs of kinds that both utilities put in the same order, and all pairs that they tell apart."""
    pairs = [(a.pig - b.pig) * (a.plc - b.plc) for a, b in combinations(found, 2)]
    return sum(product > 0 for product in pairs), len(pairs)


def _orders(known: tuple[RowKind, ...]) -> str:
    from scipy.stats import spearmanr

    left = [kind for kind in known if kind.pig > 0]
    same, pairs = same_order(left)
    among = float(spearmanr([k.pig for k in left], [k.plc for k in left]).statistic)
    overall = float(spearmanr([k.pig for k in known], [k.plc for k in known]).statistic)
    return (
        "There is a reason to expect the two to be close. In a 1-2-3 World, what is left to learn about an action in a "
        "state depends on three things only: which action it is, how many of its targets were seen, and whether state "
        f"1 is among them. That makes {len(known)} kinds of transition distributions. Of {len(known) - len(left)} all "
        f"is known, and both utilities are 0. The other {len(left)} make {pairs} pairs, of which PIG and PLC put "
        f"{same} in the same order (rank correlation {among:.2f}; {overall:.2f} with those of which all is known). So "
        "of two observations both mostly prefer the same one. They differ in how much they prefer it, which matters "
        "where value iteration adds utilities up."
    )


def _ranks(values: list[float]) -> FloatArray:
    from scipy.stats import rankdata

    return rankdata([-value for value in values])


def _kind_table(known: tuple[RowKind, ...], n_states: int) -> str:
    ranked = sorted(known, key=lambda kind: -kind.pig)
    ranks = zip(_ranks([k.pig for k in ranked]), _ranks([k.plc for k in ranked]), strict=True)
    rows = [
        (f"action {k.action}", escape(k.text), f"{k.pig:.3f}", f"{k.plc:.4f}", f"{by_pig:g}", f"{by_plc:g}")
        for k, (by_pig, by_plc) in zip(ranked, ranks, strict=True)
    ]
    heads = ("action", "targets seen", "PIG (bits)", "PLC", "rank by PIG", "rank by PLC")
    return table(
        f"A 1-2-3 World of {n_states} states; rank 1 is the largest value, equal values share a rank", heads, rows
    )


def _over_variants(context: PageContext) -> str:
    told = []
    for id_, measure in MISFIT_MEASURES.items():
        found = {v: pair_finding(by[id_].after.findings) for v, by in context.cells.items() if id_ in by}
        kept = {v: f for v, f in found.items() if f is not None and f.effect is not None}
        if not kept:
            continue
        sizes = {v: float(f.effect or 0.0) for v, f in kept.items()}
        low, high = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
        told.append(
            f"of {measure} lies between {100 * sizes[low]:+.1f} % ({escape(VARIANT_TEXTS[low])}) and "
            f"{100 * sizes[high]:+.1f} % ({escape(VARIANT_TEXTS[high])}), with "
            f"{p_html(min(f.p for f in kept.values() if f.p is not None))} at the least"
        )
    if not told:
        return ""
    return (
        f'In the {len(context.cells)} variants of the <a href="#sensitivity">sensitivity analysis</a>, the same '
        "difference "
        f"of the area {'; that '.join(told)}."
    )


def _over_800() -> str:
    return (
        "Over 800 worlds the area of PLC(VI) is 3.4 ± 0.4 % larger than that of "
        "PIG(VI), in 61 % of worlds, and the L1 area 0.1 ± 0.4 % (one standard error). Run lengths from 100 to 3000 "
        "steps, 1 to 50 steps back, discounts of 0.5 and 0.95, ties to the first action, the printed estimate, and L2 "
        "or maximum norms in place of L1 do not change that. These runs were made apart from this "
        "study."
    )
