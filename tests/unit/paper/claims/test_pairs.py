"""The verdict on each pair of strategies changes exactly where p crosses its level in the deciding pool."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import friedmanchisquare, studentized_range

from berlyne.paper.claims import CLAIMS, Evidence, Finding
from berlyne.paper.claims.published import CURVE_POOL

from .borderline import NAMES, invented, ranked, swaps, with_areas

FIG3 = ("Unembodied", "Random")
FIG4 = (*FIG3, "PIG(greedy)", "PIG(VI)", "PIG(VI+)")
FIG6 = (*FIG3, "LTA", "CB", "PEIG(Q)", "PIG(VI)")
FIG7 = (*FIG3, "PMC(VI)", "PLC(VI)", "PIG(VI)")
FIG_S3 = (*FIG3, "PIG(Q)", "PEIG(Q)", "PEIG(VI)", "PIG(VI)")
CURVES = (
    "Random", "Unembodied", "LTA", "CB", "PIG(greedy)", "PIG(VI)", "PIG(VI+)", "PIG(Q)", "PEIG(VI)", "PEIG(Q)",
    "PMC(VI)", "PLC(VI)",
)  # fmt: skip
D, M, O = "dense", "maze", "1-2-3"  # noqa: E741 - the letters of the list of claims

SAID = {  # claim: its pool, and who is worse than (>) or like (=) whom, in the order of the findings
    "controls": (FIG3, [(M, "Random > Unembodied"), (O, "Random > Unembodied"), (D, "Random = Unembodied")]),
    "embodied-greedy": (
        FIG4, [(M, "PIG(greedy) > Unembodied"), (O, "PIG(greedy) > Unembodied"), (D, "PIG(greedy) = Unembodied")],
    ),
    "greedy-random": (
        FIG4, [(D, "PIG(greedy) = Random"), (M, "PIG(greedy) = Random"), (O, "Random > PIG(greedy)")],
    ),
    "vi-gain": (FIG4, [(M, "PIG(greedy) > PIG(VI)"), (O, "PIG(greedy) > PIG(VI)"), (D, "PIG(greedy) = PIG(VI)")]),
    "vi-plus": (FIG4, [(M, "PIG(VI) > PIG(VI+)"), (D, "PIG(VI) = PIG(VI+)"), (O, "PIG(VI) = PIG(VI+)")]),
    "lta": (FIG6, [(D, "LTA = Random"), (M, "LTA = Random"), (O, "LTA = Random")]),
    "cb": (FIG6, [(D, "CB > Random"), (O, "CB > Random"), (M, "Random > CB"), (M, "CB > PIG(VI)")]),
    "peig-q": (FIG6, [(D, "PEIG(Q) > Random"), (O, "PEIG(Q) > Random"), (M, "PEIG(Q) = Random")]),
    "best-of-previous": (
        FIG6, [(name, f"{rival} > PIG(VI)") for name in (M, O) for rival in ("LTA", "CB", "PEIG(Q)")],
    ),
    "pig-q": (
        FIG_S3,
        [*((name, "PIG(Q) = PEIG(Q)") for name in (D, M, O)), *((name, "PIG(Q) > PIG(VI)") for name in (M, O))],
    ),
    "peig-vi": (FIG_S3, [(M, "PEIG(VI) = PIG(VI)"), (O, "PEIG(VI) > PIG(VI)")]),
    "utilities": (FIG7, [*((name, "PMC(VI) > PIG(VI)") for name in (D, M, O)), (O, "PLC(VI) > PIG(VI)")]),
    "utilities-help": (FIG7, [(name, f"Random > {s}") for name in (M, O) for s in ("PMC(VI)", "PLC(VI)")]),
    "l1": (FIG7, [(O, "PMC(VI) > PIG(VI)"), (O, "PLC(VI) > PIG(VI)")]),
}  # fmt: skip
PRINTED = {  # the comparisons for which the paper gives a level
    "controls", "embodied-greedy", "greedy-random", "lta", "cb", "peig-q", "peig-vi", "utilities",
}  # fmt: skip
PAIRS = [(claim, place) for claim, (_, comparisons) in SAID.items() for place in range(len(comparisons))]
every_pair = pytest.mark.parametrize(("claim", "place"), PAIRS)


def comparison(claim: str, place: int) -> tuple[str, str, str, bool, float]:
    """Class, the two strategies, whether they should be alike, and the level."""
    world_class, comparisons = SAID[claim][1][place]
    one, sign, other = comparisons.split(" ")
    return world_class, one, other, sign == "=", 0.01 if claim == "controls" and sign == "=" else 0.001


def pool_of(claim: str, pool: str) -> tuple[tuple[str, ...], int]:
    """The strategies of a pool, and how many lie between the two that are compared in what is invented for it."""
    return {"figure": (SAID[claim][0], 0), "curves": (CURVES, 2), "all": (NAMES, 3)}[pool]


def check_pair(claim: str, place: int, m: int, n: int = 200, pool: str = "curves", backwards: bool = False) -> Finding:
    """The finding where the first strategy is slower (or, backwards, faster) than the second in m of n worlds."""
    world_class, one, other, _, _ = comparison(claim, place)
    strategies, between = pool_of(claim, pool)
    first, second = (other, one) if backwards else (one, other)
    areas = ranked(strategies, first, second, n, m, between)
    evidence = with_areas(invented(n), world_class, areas, l1=claim == "l1")
    return CLAIMS[claim].verdict(replace(evidence, pool=pool)).findings[place]


@pytest.mark.pairwise
@pytest.mark.parametrize("pool", ["curves", "figure", "all"])
@every_pair
def test_a_pair_differs_from_where_p_falls_below_its_level(claim: str, place: int, pool: str) -> None:
    *_, alike, alpha = comparison(claim, place)
    strategies, between = pool_of(claim, pool)
    m = swaps(len(strategies), 200, alpha, between)
    assert check_pair(claim, place, m, pool=pool).ok is not alike
    assert check_pair(claim, place, m - 1, pool=pool).ok is alike
    assert check_pair(claim, place, m, pool=pool, backwards=True).ok is False


def test_the_pool_of_the_learning_curves_decides_by_default() -> None:
    assert Evidence({}).pool == "curves"
    assert set(CURVES) == {*FIG4, *FIG6, *FIG7, *FIG_S3} == set(CURVE_POOL)


@every_pair
def test_a_pair_that_does_not_differ_is_decided_from_a_hundred_worlds_on(claim: str, place: int) -> None:
    *_, alike, _ = comparison(claim, place)
    assert check_pair(claim, place, 50, n=99).ok is None
    assert check_pair(claim, place, 50, n=100).ok is alike


@every_pair
def test_a_finding_names_what_it_compares(claim: str, place: int) -> None:
    world_class, one, other, alike, alpha = comparison(claim, place)
    finding = check_pair(claim, place, 200)
    assert (
        finding.about == f"{ {D: 'Dense Worlds', M: 'Mazes', O: '1-2-3 Worlds'}[world_class] }: {one} against {other}"
    )
    relation, level = (
        (f"not significantly different from {other}", f"p > {alpha}")
        if alike
        else (f"worse than {other}", f"p < {alpha}")
    )
    printed = claim in PRINTED and (claim, place) != ("cb", 2)
    assert finding.expected == (f"{one} {relation} ({level})" if printed else f"{one} {relation}")
    assert finding.ours == ("" if printed else f"significance level {level} (not given in the paper)")
    areas = ranked(CURVES, one, other, 200, 200, 2)
    assert finding.effect == pytest.approx(areas[one][0] / areas[other][0] - 1)
    assert finding.measured.startswith("significantly different (p ")
    assert "larger in 100% of worlds" in finding.measured
    assert check_pair(claim, place, 100).measured.startswith(f"not significantly different at the {alpha} level (p = ")


def test_every_comparison_is_among_these(published: Evidence) -> None:
    with_p_of_two_pools = {
        (id_, i)
        for id_, claim in CLAIMS.items()
        if claim.needs  # not the theorems, which compare no strategies
        for i, finding in enumerate(claim.verdict(published).findings)
        if finding.pools
    }
    assert with_p_of_two_pools == set(PAIRS)


@pytest.fixture(scope="module")
def published() -> Evidence:
    return invented(200)


def leaning(lean: float) -> dict[str, np.ndarray]:
    """The five of Fig. 4, of equal mean rank but for PIG(greedy), ahead of which PIG(VI) comes by `lean` ranks."""
    square = np.array([[(i + j) % 5 for j in range(5)] for i in range(5)], dtype=float)
    values = 100.0 + np.tile(square, (40, 1))
    one, other = FIG4.index("PIG(greedy)"), FIG4.index("PIG(VI)")
    lower = np.flatnonzero(values[:, one] < values[:, other])
    gaps = 2 * (values[lower, other] - values[lower, one]) / 200
    chosen = lower[: np.searchsorted(np.cumsum(gaps), lean) + 1]
    values[np.ix_(chosen, [one, other])] = values[np.ix_(chosen, [other, one])]
    return dict(zip(FIG4, values.T, strict=True))


def test_no_pair_differs_in_a_pool_that_friedmans_test_finds_alike(published: Evidence) -> None:
    areas = leaning(0.62)
    test = friedmanchisquare(*areas.values())
    evidence = replace(with_areas(with_areas(published, M, areas), D, areas), pool="figure")
    worse, _, alike, _ = CLAIMS["vi-gain"].verdict(evidence).findings
    assert test.pvalue > 0.001 > worse.p
    assert (worse.ok, alike.ok) == (False, True)
    assert worse.friedman == pytest.approx((test.statistic, 4, test.pvalue))


def test_a_pair_differs_in_a_pool_that_friedmans_test_finds_different(published: Evidence) -> None:
    areas = leaning(0.72)
    test = friedmanchisquare(*areas.values())
    evidence = replace(with_areas(with_areas(published, M, areas), D, areas), pool="figure")
    worse, _, alike, _ = CLAIMS["vi-gain"].verdict(evidence).findings
    assert test.pvalue < 0.001
    assert (worse.ok, alike.ok) == (True, False)


@every_pair
def test_a_finding_carries_p_and_friedmans_test_of_every_pool(claim: str, place: int, published: Evidence) -> None:
    world_class, one, other, *_ = comparison(claim, place)
    areas = (published.l1_areas if claim == "l1" else published.areas)[world_class]
    finding = CLAIMS[claim].verdict(published).findings[place]
    assert set(finding.pools) == {"curves", "figure", "all"}
    assert (finding.p, finding.friedman) == (finding.pools["curves"].p, finding.pools["curves"].friedman)
    for pool, test in finding.pools.items():
        strategies, _ = pool_of(claim, pool)
        ranks = np.argsort(np.argsort(np.stack([areas[name] for name in strategies]), axis=0), axis=0) + 1.0
        k = len(strategies)  # Friedman's formula as he wrote it: there are no ties
        statistic = 12 / (200 * k * (k + 1)) * np.sum(ranks.sum(axis=1) ** 2) - 3 * 200 * (k + 1)
        assert test.friedman.statistic == pytest.approx(statistic)
        assert test.friedman.df == k - 1
        mean = dict(zip(strategies, ranks.mean(axis=1), strict=True))
        q = abs(mean[one] - mean[other]) / np.sqrt(k * (k + 1) / 12 / 200)
        assert test.p == pytest.approx(studentized_range.sf(q, k, np.inf), rel=1e-3, abs=1e-9)
