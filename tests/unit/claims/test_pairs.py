"""Every comparison of two strategies changes its verdict exactly where p crosses its level in its own pool."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import friedmanchisquare

from berlyne.claims import CLAIMS, Evidence, Finding

from .borderline import NAMES, invented, ranked, swaps, with_areas

FIG3 = ("Unembodied", "Random")
FIG4 = (*FIG3, "PIG(greedy)", "PIG(VI)", "PIG(VI+)")
FIG6 = (*FIG3, "LTA", "CB", "PEIG(Q)", "PIG(VI)")
FIG7 = (*FIG3, "PMC(VI)", "PLC(VI)", "PIG(VI)")
FIG_S3 = (*FIG3, "PIG(Q)", "PEIG(Q)", "PEIG(VI)", "PIG(VI)")
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
PAIRS = [(claim, place) for claim, (_, said) in SAID.items() for place in range(len(said))]
every_pair = pytest.mark.parametrize(("claim", "place"), PAIRS)


def told(claim: str, place: int) -> tuple[str, str, str, bool, float]:
    """Class, the two strategies, whether they should be alike, and the level."""
    world_class, said = SAID[claim][1][place]
    one, sign, other = said.split(" ")
    return world_class, one, other, sign == "=", 0.01 if claim == "controls" and sign == "=" else 0.001


def judged(claim: str, place: int, m: int, n: int = 200, pool_all: bool = False, backwards: bool = False) -> Finding:
    """The finding where the first strategy is slower (or, backwards, faster) than the second in m of n worlds."""
    world_class, one, other, _, _ = told(claim, place)
    pool, between = (NAMES, 3) if pool_all else (SAID[claim][0], 0)
    first, second = (other, one) if backwards else (one, other)
    areas = ranked(pool, first, second, n, m, between)
    evidence = with_areas(invented(n), world_class, areas, l1=claim == "l1")
    return CLAIMS[claim].verdict(replace(evidence, pool_all=pool_all)).findings[place]


@every_pair
def test_a_pair_differs_from_where_p_falls_below_its_level(claim: str, place: int) -> None:
    *_, alike, alpha = told(claim, place)
    m = swaps(len(SAID[claim][0]), 200, alpha)
    assert judged(claim, place, m).ok is not alike
    assert judged(claim, place, m - 1).ok is alike
    assert judged(claim, place, m, backwards=True).ok is False


@every_pair
def test_so_it_does_in_the_pool_of_all(claim: str, place: int) -> None:
    *_, alike, alpha = told(claim, place)
    m = swaps(15, 200, alpha, between=3)
    assert judged(claim, place, m, pool_all=True).ok is not alike
    assert judged(claim, place, m - 1, pool_all=True).ok is alike
    assert judged(claim, place, m, pool_all=True, backwards=True).ok is False


@every_pair
def test_a_pair_that_does_not_differ_says_something_from_a_hundred_worlds_on(claim: str, place: int) -> None:
    *_, alike, _ = told(claim, place)
    assert judged(claim, place, 50, n=99).ok is None
    assert judged(claim, place, 50, n=100).ok is alike


@every_pair
def test_a_finding_names_what_it_compares(claim: str, place: int) -> None:
    world_class, one, other, alike, alpha = told(claim, place)
    found = judged(claim, place, 200)
    assert found.about == f"{ {D: 'Dense Worlds', M: 'Mazes', O: '1-2-3 Worlds'}[world_class] }: {one} against {other}"
    how = f"like {other} (p > {alpha})" if alike else f"worse than {other} (p < {alpha})"
    assert found.expected == f"{one} {how}"
    areas = ranked(SAID[claim][0], one, other, 200, 200)
    assert found.effect == pytest.approx(areas[one][0] / areas[other][0] - 1)
    assert "larger in 100% of worlds" in found.measured


def test_every_comparison_is_among_these(published: Evidence) -> None:
    with_p_of_two_pools = {
        (id_, i)
        for id_, claim in CLAIMS.items()
        if claim.needs  # not the theorems, which compare no strategies
        for i, finding in enumerate(claim.verdict(published).findings)
        if finding.p_all is not None
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
    evidence = with_areas(with_areas(published, M, areas), D, areas)
    worse, _, alike, _ = CLAIMS["vi-gain"].verdict(evidence).findings
    assert test.pvalue > 0.001 > worse.p
    assert (worse.ok, alike.ok) == (False, True)
    assert worse.friedman == pytest.approx((test.statistic, 4, test.pvalue))


def test_a_pair_differs_in_a_pool_that_friedmans_test_finds_different(published: Evidence) -> None:
    areas = leaning(0.72)
    test = friedmanchisquare(*areas.values())
    evidence = with_areas(with_areas(published, M, areas), D, areas)
    worse, _, alike, _ = CLAIMS["vi-gain"].verdict(evidence).findings
    assert test.pvalue < 0.001
    assert (worse.ok, alike.ok) == (True, False)


@every_pair
def test_a_finding_carries_friedmans_test_of_both_pools(claim: str, place: int, published: Evidence) -> None:
    world_class, *_ = told(claim, place)
    areas = (published.l1_areas if claim == "l1" else published.areas)[world_class]
    found = CLAIMS[claim].verdict(published).findings[place]
    for pool, ours in ((SAID[claim][0], found.friedman), (NAMES, found.friedman_all)):
        ranks = np.argsort(np.argsort(np.stack([areas[name] for name in pool]), axis=0), axis=0) + 1.0
        k = len(pool)  # Friedman's formula as he wrote it: there are no ties
        statistic = 12 / (200 * k * (k + 1)) * np.sum(ranks.sum(axis=1) ** 2) - 3 * 200 * (k + 1)
        assert ours.statistic == pytest.approx(statistic)
        assert ours.df == k - 1
