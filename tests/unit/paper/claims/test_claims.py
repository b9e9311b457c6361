"""Every check returns "holds" for results as published, and "does not hold" for results that contradict the claim."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from berlyne.paper.claims import CLAIMS, Evidence, Finding, Verdict, theorems
from berlyne.paper.claims.published import FIGURE_POOLS
from berlyne.paper.claims.task_ranks import task_ranks
from berlyne.paper.claims.verdict import FAILS, HOLDS, UNDECIDED
from berlyne.paper.reproduction.figure_list import FIGURES
from berlyne.priors import OneTwoThree
from berlyne.strategies.utilities import pig_as_printed_of_row

from .invented import SPOILED, as_published

THEOREMS = ("theorem-1", "theorem-2")


@pytest.fixture(scope="module")
def published() -> Evidence:
    return as_published()


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_claim_holds_on_results_as_published(claim: str, published: Evidence) -> None:
    verdict = CLAIMS[claim].verdict(published)
    assert verdict.word == HOLDS, verdict.reason


@pytest.mark.parametrize(("claim", "case"), [(c, i) for c, cases in SPOILED.items() for i in range(len(cases))])
def test_a_claim_fails_on_results_that_contradict_it(claim: str, case: int, published: Evidence) -> None:
    verdict = CLAIMS[claim].verdict(SPOILED[claim][case](published))
    assert verdict.word == FAILS
    assert verdict.reason


def test_every_claim_has_been_shown_to_fail() -> None:
    assert {*SPOILED, *THEOREMS} == set(CLAIMS)


def test_theorem_1_fails_for_the_printed_estimate(published: Evidence, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(theorems, "OneTwoThree", lambda n: OneTwoThree(n, formula="printed"))
    assert CLAIMS["theorem-1"].verdict(published).word == FAILS


def test_theorem_2_fails_for_the_printed_divergence(published: Evidence, monkeypatch: pytest.MonkeyPatch) -> None:
    def printed(model: object) -> object:
        rows = [
            [pig_as_printed_of_row(model.theta_hat_row(a, s), model.theta_hat_after(a, s)) for s in range(1)]
            for a in range(model.n_actions)
        ]
        return __import__("numpy").array(rows)

    monkeypatch.setattr(theorems, "pig", printed)
    assert CLAIMS["theorem-2"].verdict(published).word == FAILS


def test_few_worlds_leave_equality_undecided() -> None:
    few = as_published(n=20)
    assert CLAIMS["lta"].verdict(few).word == UNDECIDED
    assert CLAIMS["controls"].verdict(few).word != HOLDS


def test_ranks_of_fig_8_are_averages_of_ranks_at_each_time(published: Evidence) -> None:
    tasks = published.stages["tasks"]
    ranks = task_ranks(tasks)
    assert list(ranks["strategy"].values) == list(FIGURE_POOLS["fig8"])
    chosen = {"world_class": "maze", "world": 7, "strategy": "LTA"}
    losses = tasks["reward_loss"].sel(strategy=list(FIGURE_POOLS["fig8"])).sel(world_class="maze").isel(world=7)
    at_times = 1 + (losses < losses.sel(strategy="LTA")).sum("strategy")
    assert float(ranks["reward"].sel(chosen)) == pytest.approx(float(at_times.mean()))
    assert (ranks["navigation"].mean("world").idxmin("strategy") == "PIG(VI)").all()
    by_average = task_ranks(tasks, "average loss")["reward"].sel(chosen)
    average = losses.mean("snapshot")
    assert by_average == 1 + int((average < average.sel(strategy="LTA")).sum())


def test_a_verdict_is_the_worst_of_its_findings() -> None:
    def finding(ok: bool | None) -> Finding:
        return Finding("it", "so", "thus", ok)

    assert Verdict((finding(True), finding(True))).word == HOLDS
    assert Verdict((finding(True), finding(None))).word == UNDECIDED
    assert Verdict((finding(None), finding(False))).word == FAILS
    assert Verdict((finding(True),)).reason == ""


def test_claims_name_figures_that_exist() -> None:
    assert {name for claim in CLAIMS.values() for name in claim.figures} <= set(FIGURES)


def test_claims_are_those_of_the_list() -> None:
    page = Path(__file__).parents[4] / "docs" / "paper" / "claims.md"
    listed = re.findall(r"^\| ([a-z0-9-]+) \|", page.read_text(), flags=re.MULTILINE)
    assert [name for name in listed if name != "id"] == list(CLAIMS)
