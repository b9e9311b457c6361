"""Explanation of one misfit: PLC(VI) is almost as good as PIG(VI) in 1-2-3 Worlds, against three claims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from scipy.stats import rankdata, spearmanr

from berlyne.models.internal_model import InternalModel
from berlyne.paper.claims import CLAIMS, Finding, Verdict
from berlyne.paper.reproduction.page.context import PageContext
from berlyne.paper.reproduction.robustness import effect_text
from berlyne.priors import OneTwoThree
from berlyne.strategies.utilities import pig, plc

ID = "plc"
"""Name of the misfit in `Claim.misfit`, and its id on the page."""
PAIR = ("PLC(VI)", "PIG(VI)")
"""The strategies of the misfit."""
MEASURES = {"utilities": "missing information", "l1": "L1 distance"}
"""Measure of the area by which a claim compares the two strategies."""


def is_misfit(id_: str, finding: Finding) -> bool:
    """Return whether the misfit explains a finding."""
    return CLAIMS[id_].misfit == ID and PAIR[0] in finding.strategies


def explains_claim(id_: str, verdict: Verdict) -> bool:
    """Return whether a claim fails or is undecided because of the misfit."""
    return any(is_misfit(id_, finding) for finding in verdict.against)


def failing_claims(context: PageContext) -> list[str]:
    """Return the claims that fail or are undecided because of the misfit."""
    return [id_ for id_ in context.not_held() if explains_claim(id_, context.verdicts[id_])]


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


class Order(NamedTuple):
    """Agreement of PIG and PLC about the order of the kinds of transition distributions.

    Attributes
    ----------
    n_unknown : int
        Number of kinds about which something can still be learned.
    n_same, n_pairs : int
        Number of pairs of these kinds that both utilities put in the same order, and of all pairs.
    correlation, correlation_of_all : float
        Rank correlation of PIG and PLC over these kinds, and over all kinds.
    """

    n_unknown: int
    n_same: int
    n_pairs: int
    correlation: float
    correlation_of_all: float


def same_order(kinds: Sequence[RowKind]) -> tuple[int, int]:
    """Return the number of pairs of kinds that both utilities put in the same order, and the number of all pairs."""
    pairs = [(a.pig - b.pig) * (a.plc - b.plc) for a, b in combinations(kinds, 2)]
    return sum(product > 0 for product in pairs), len(pairs)


def order_of(kinds: Sequence[RowKind]) -> Order:
    """Return the agreement of PIG and PLC about the order of kinds."""
    unknown = [kind for kind in kinds if kind.pig > 0]
    correlations = [float(spearmanr([k.pig for k in ks], [k.plc for k in ks]).statistic) for ks in (unknown, kinds)]
    return Order(len(unknown), *same_order(unknown), *correlations)


def ranked(kinds: Sequence[RowKind]) -> list[tuple[RowKind, float, float]]:
    """Return the kinds in descending order of PIG, with the ranks of PIG and PLC; 1 is the largest value."""
    in_order = sorted(kinds, key=lambda kind: -kind.pig)
    by_pig, by_plc = rankdata([-k.pig for k in in_order]), rankdata([-k.plc for k in in_order])
    return list(zip(in_order, by_pig.tolist(), by_plc.tolist(), strict=True))


class Range(NamedTuple):
    """Range of an effect over variants, with the variants that have its ends, and the smallest p-value."""

    low: float
    high: float
    lowest: str
    highest: str
    p: float


@dataclass(frozen=True)
class Analysis:
    """Numbers of the misfit.

    Attributes
    ----------
    areas : dict of str to Finding
        Comparison of the two strategies by area, by measure.
    tasks : list of Finding
        Result of PLC(VI) in its worst class and task.
    kinds : tuple of RowKind
        Every kind of transition distribution.
    order : Order
        Agreement of both utilities about the order of the kinds.
    n_states : int
        Number of states of a 1-2-3 World.
    ranges : dict of str to Range
        Difference of the areas over all variants, by measure.
    """

    areas: dict[str, Finding]
    tasks: list[Finding]
    kinds: tuple[RowKind, ...]
    order: Order
    n_states: int
    ranges: dict[str, Range]


def analyse(context: PageContext) -> Analysis:
    """Return the numbers of the misfit in a reproduction."""
    prior = context.paper_run.world("1-2-3", 0).prior
    assert isinstance(prior, OneTwoThree)
    kinds, verdicts = row_kinds(prior), context.verdicts
    areas, ranges = {}, {}
    for id_, measure in MEASURES.items():
        if id_ in verdicts and (finding := pair_finding(verdicts[id_])) is not None:
            areas[measure] = finding
        if (effects := _range_over_variants(context, id_)) is not None:
            ranges[measure] = effects
    tasks = verdicts["tasks-only"].findings if "tasks-only" in verdicts else ()
    plc_tasks = [finding for finding in tasks if finding.strategies == PAIR[:1]]
    return Analysis(areas, plc_tasks, kinds, order_of(kinds), prior.n_states, ranges)


def pair_finding(verdict: Verdict) -> Finding | None:
    """Return the finding that compares the two strategies by area."""
    return next((finding for finding in verdict.findings if finding.strategies == PAIR), None)


def _range_over_variants(context: PageContext, id_: str) -> Range | None:
    """Return the range of the difference of areas over all variants; None if no variant has it."""
    findings = {
        variant: pair_finding(by_claim[id_].after) for variant, by_claim in context.cells.items() if id_ in by_claim
    }
    measured = {v: f for v, f in findings.items() if f is not None and f.effect is not None}
    if not measured:
        return None
    sizes = {v: float(f.effect or 0.0) for v, f in measured.items()}
    low, high = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
    return Range(sizes[low], sizes[high], low, high, min(f.p for f in measured.values() if f.p is not None))


def interval_text(finding: Finding) -> str:
    """Return an effect with its confidence interval, in per cent, as text."""
    if finding.effect is None or finding.low is None or finding.high is None:
        return effect_text(finding)
    return f"{100 * finding.effect:+.1f} % [{100 * finding.low:+.1f}, {100 * finding.high:+.1f}]"
