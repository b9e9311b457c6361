"""Verdicts that flip by a hair and by an effect, and which explorations a variant runs again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from berlyne.paper.claims import CLAIMS, Finding, Verdict
from berlyne.paper.reproduction.assumptions import DEFAULT
from berlyne.paper.reproduction.robustness import EFFECT, MARGINAL, POOL_ONLY, REEVALUATED, Cell, Change, effect_text
from berlyne.paper.reproduction.variants import VARIANTS, WITH_CURVES, needed_runs
from berlyne.strategies.registry import PAPER_STRATEGIES

from ..claims.invented import as_published

FIG8 = tuple(name for name in PAPER_STRATEGIES if not name.endswith("(Q)"))
Q = ("PIG(Q)", "PEIG(Q)")
CHANGES = {variant.id: variant.changes for variant in VARIANTS}


def finding(ok: bool | None, effect: float | None = 0.05, p: float | None = 0.0006, unit: str = "area") -> Finding:
    low, high = (None, None) if effect is None else (effect - 0.02, effect + 0.02)
    return Finding("Mazes: CB against Random", "worse", "measured", ok, "", effect, low, high, unit, p)


@pytest.mark.parametrize(
    ("before", "after", "flip"),
    [
        (finding(True), finding(True, 0.9), ""),
        (finding(True), finding(False, 0.0501, 0.00102), MARGINAL),  # p 0.0006 -> 0.001
        (finding(True), finding(False, 0.05, 0.00102), POOL_ONLY),  # the effect is the same
        (finding(True), finding(False, 0.0699), MARGINAL),
        (finding(True), finding(False, 0.0301), MARGINAL),
        (finding(True), finding(False, 0.0701), EFFECT),
        (finding(True), finding(False, 0.0299), EFFECT),
        (finding(True), finding(None, 0.05), POOL_ONLY),
        (finding(True, None), finding(False, None), EFFECT),  # nothing says that it is a hair
        (finding(False), finding(True, -0.4), EFFECT),
    ],
)
def test_a_flip_is_by_a_hair_while_the_effect_stays_within_its_interval(before, after, flip) -> None:
    assert Change(before, after).flip == flip
    assert Cell(Verdict((before,)), Verdict((after,))).flip == flip


def test_one_finding_that_flips_by_its_effect_is_enough() -> None:
    before = Verdict((finding(True), finding(True)))
    by_a_hair, by_effect = finding(False, 0.06), finding(False, 0.5)
    assert Cell(before, Verdict((by_a_hair, finding(True)))).flip == MARGINAL
    assert Cell(before, Verdict((by_a_hair, by_effect))).flip == EFFECT
    assert Cell(before, Verdict((finding(False), by_a_hair))).flip == MARGINAL
    assert Cell(before, Verdict((finding(False), finding(True)))).flip == POOL_ONLY
    spoiled = Verdict((finding(False), finding(True)))
    assert Cell(spoiled, Verdict((finding(False), by_effect))).flip == ""  # the word stays


def test_the_largest_change_is_found_whatever_becomes_of_the_word() -> None:
    before = Verdict((finding(True), finding(True, 0.1), finding(True, 3.0, unit="ranks")))
    after = Verdict((finding(True, 0.06), finding(True, 1.03), finding(True, 4.0, unit="ranks")))
    cell = Cell(before, after)
    assert cell.flip == ""
    assert cell.largest.effect_change == pytest.approx(0.93)
    assert cell.largest.text == "Mazes: CB against Random: +10.0 % (p = 0.0006) → +103.0 % (p = 0.0006)"
    in_ranks = Verdict((finding(True, 0.06), finding(True, 0.1), finding(True, -7.0, unit="ranks")))
    assert Cell(before, in_ranks).largest.effect_change == -10.0


def test_effects_have_units() -> None:
    assert effect_text(finding(True, 0.1234, None)) == "+12.3 %"
    assert effect_text(finding(True, -1.5, 1e-20, "ranks")) == "-1.50 ranks (p < 1e-15)"
    assert effect_text(finding(True, None, None)) == "measured"


def test_claims_that_a_variant_cannot_change_are_not_checked_again() -> None:
    others = {"theorem-1", "theorem-2", "pig-predicts", "pig-falls", "learned-prior"}
    assert set(REEVALUATED) == set(CLAIMS) - others
    assert {"tasks-top", "tasks-only", "structure", "control-horizon"} <= set(REEVALUATED)


@pytest.mark.parametrize(
    ("variant", "world_class", "worlds", "explore", "navigate", "collect"),
    [
        ("peig-0", "1-2-3", False, ("PEIG(greedy)", "PEIG(VI)", "PEIG(Q)"), *[("PEIG(greedy)", "PEIG(VI)")] * 2),
        ("q-epsilon", "maze", False, Q, (), ()),
        ("ties", "dense", False, *[tuple(n for n in FIG8 if n != "Random")] * 3),
        ("maze-law", "maze", True, PAPER_STRATEGIES, FIG8, FIG8),
        ("maze-law", "dense", False, (), (), ()),
        ("printed-1-2-3", "1-2-3", True, PAPER_STRATEGIES, FIG8, FIG8),
        ("half-length", "dense", False, PAPER_STRATEGIES, FIG8, FIG8),
        ("cap", "maze", False, (), FIG8, ()),
        ("leaving", "maze", False, (), (), FIG8),
        ("average-loss", "maze", False, (), (), ()),
        ("pool-all", "maze", False, (), (), ()),
        ("index", "maze", False, (), (), ()),
    ],
)
def test_only_what_a_variant_can_move_is_run_again(variant, world_class, worlds, explore, navigate, collect) -> None:
    needed = needed_runs(DEFAULT, DEFAULT.replace(CHANGES[variant]), world_class)
    assert needed == (worlds, explore, navigate, collect, variant == "half-length")
    assert needed.uses_stored_runs == (variant in ("cap", "leaving"))


def test_only_planners_are_run_again_with_another_discount() -> None:
    planners = ("PIG(VI)", "PIG(VI+)", "PEIG(VI)", "PMC(VI)", "PLC(VI)")
    assert needed_runs(DEFAULT, DEFAULT.replace({"gamma": 0.9}), "dense") == (False, *[planners] * 3, False)


@pytest.mark.parametrize("changes", [{"gamma": 0.9}, {"tasks.horizon": 9}, {"maze.side": 5}])
def test_runs_that_differ_in_more_than_their_length_do_not_begin_alike(changes) -> None:
    shorter = {"maze.n_steps": 1250}
    assert needed_runs(DEFAULT, DEFAULT.replace(shorter), "maze").only_shorter
    assert not needed_runs(DEFAULT, DEFAULT.replace({**shorter, **changes}), "maze").only_shorter
    assert not needed_runs(DEFAULT, DEFAULT.replace({"maze.n_steps": 5000}), "maze").only_shorter


def test_claims_about_tasks_are_checked_again_under_fitted_readings_and_readings_of_tasks() -> None:
    without = {variant.reading for variant in VARIANTS if not variant.tasks}
    assert without == {"R3", "R8", "R11"}
    assert not without & {*CLAIMS["tasks-top"].rests_on, *CLAIMS["tasks-only"].rests_on, "R16", "R18", "R19", "R20"}


@pytest.mark.parametrize("claim", REEVALUATED)
def test_no_claim_uses_a_curve_that_variants_do_not_store(claim: str) -> None:
    published = as_published()
    curves = {
        name: {s: curve if s in WITH_CURVES else np.full_like(curve, np.nan) for s, curve in by.items()}
        for name, by in published.curves.items()
    }
    before, after = (CLAIMS[claim].verdict(e) for e in (published, replace(published, curves=curves)))
    assert after == before
