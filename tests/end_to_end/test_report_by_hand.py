"""The report and claims.json agree with the stored numbers, with the right word, mark and colour."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import friedmanchisquare, rankdata, studentized_range

from berlyne.paper.claims import CLAIMS, Evidence
from berlyne.paper.claims.fitted import FITTED
from berlyne.paper.reproduction.paper_run import PaperRun
from berlyne.paper.reproduction.robustness import REEVALUATED, variant_evidence
from berlyne.paper.reproduction.variants import VARIANTS
from unit.paper.reproduction.html_page import Page, plain

from .by_hand import STRATEGIES, stage, stored

pytestmark = pytest.mark.slow

MARKS = {"holds": "✓", "does not hold": "✗", "undecided": "?"}
WORDS = {True: "holds", False: "does not hold", None: "undecided"}
CHOSEN = {id_ for fitted in FITTED.values() for id_ in fitted.chosen_by}
CURVES = tuple(name for name in STRATEGIES if name not in ("PEIG(greedy)", "PMC(greedy)", "PLC(greedy)"))
POOLS = {"curves": CURVES, "figure": ("Unembodied", "Random", "LTA", "CB", "PEIG(Q)", "PIG(VI)"), "all": STRATEGIES}


def group(id_: str, word: str) -> str:
    """Return the group of a verdict."""
    if word != "holds":
        return word
    return "holds, but was used to choose a reading" if id_ in CHOSEN else "holds on its own"


def p_text(p: float) -> str:
    return "p < 1e-15" if p < 1e-15 else f"p = {p:.2g}"


@pytest.fixture(scope="module")
def claims(folder: Path) -> dict[str, Any]:
    """Return the contents of claims.json, by claim."""
    return {claim["id"]: claim for claim in json.loads((folder / "claims.json").read_text())}


@pytest.fixture(scope="module")
def evidence(folder: Path) -> Evidence:
    """Gather the evidence of the reproduction."""
    areas, l1_areas, curves = {}, {}, {}
    for name, here in stored(folder).items():
        by = {s: here.sel(strategy=s) for s in STRATEGIES}
        areas[name] = {s: of["area"].values for s, of in by.items()}
        l1_areas[name] = {s: of["l1_distance"].values.astype(float).sum(axis=1) for s, of in by.items()}
        curves[name] = {s: of["missing_information"].values.astype(float).mean(axis=0) for s, of in by.items()}
    stages = {name: stage(folder, name) for name in ("structure", "gains", "tasks", "learned")}
    return Evidence(areas, l1_areas, curves, stages)


@pytest.mark.parametrize("id_", CLAIMS)
def test_claims_json_agrees_with_the_stored_numbers(id_: str, claims: dict[str, Any], evidence: Evidence) -> None:
    verdict, claim = CLAIMS[id_].verdict(evidence), claims[id_]
    assert (claim["verdict"], claim["claim"], claim["place"]) == (verdict.word, CLAIMS[id_].text, CLAIMS[id_].place)
    assert (claim["group"], set(claim["chose"])) == (
        group(id_, verdict.word),
        {name for name, fitted in FITTED.items() if id_ in fitted.chosen_by},
    )
    assert len(claim["findings"]) == len(verdict.findings)
    for ours, theirs in zip(verdict.findings, claim["findings"], strict=True):
        assert (theirs["about"], theirs["expected"], theirs["ok"]) == (ours.about, ours.expected, ours.ok)
        assert (theirs["ours"], theirs["unit"]) == (ours.ours, ours.unit)
        for key in ("effect", "low", "high", "p"):
            number = getattr(ours, key)
            assert theirs[key] == (None if number is None else pytest.approx(number, rel=1e-5, nan_ok=True))
        assert set(theirs["pools"]) == set(ours.pools)
        for pool, test in ours.pools.items():
            assert theirs["pools"][pool]["p"] == pytest.approx(test.p, rel=1e-5)


def test_a_pair_in_claims_json_agrees_with_scipy(claims: dict[str, Any], evidence: Evidence) -> None:
    finding = claims["cb"]["findings"][3]
    assert finding["about"] == "Mazes: CB against PIG(VI)"
    areas = evidence.areas["maze"]
    for name, pool in POOLS.items():
        values = np.stack([areas[strategy] for strategy in pool], axis=1)
        mean, k = rankdata(values, axis=1).mean(axis=0), len(pool)
        gap = abs(mean[pool.index("CB")] - mean[pool.index("PIG(VI)")])
        p = studentized_range.sf(gap / np.sqrt(k * (k + 1) / 12 / len(values)), k, np.inf)
        assert finding["pools"][name]["p"] == pytest.approx(p, rel=1e-6)
        test = friedmanchisquare(*values.T)
        assert finding["pools"][name]["friedman"] == pytest.approx(
            {"statistic": test.statistic, "df": k - 1, "p": test.pvalue}
        )
    assert finding["p"] == finding["pools"]["curves"]["p"]


@pytest.fixture(scope="module")
def page(folder: Path) -> Page:
    return Page((folder / "report.html").read_text())


@pytest.fixture(scope="module")
def findings(page: Page) -> dict[str, list[dict[str, str]]]:
    """The tables of findings, by claim: they come in the order of the claims."""
    tables = [lines for caption, lines in page.tables if caption == "Findings"]
    return dict(zip(CLAIMS, tables, strict=True))


def test_the_table_of_claims_agrees_with_claims_json(page: Page, claims: dict[str, Any]) -> None:
    lines = page.lines("Every claim, its verdict")
    assert [line["claim"].split()[0] for line in lines] == list(claims)
    for line, (id_, claim) in zip(lines, claims.items(), strict=True):
        word = group(id_, claim["verdict"])
        mark = "(✓)" if word.endswith("reading") else MARKS[claim["verdict"]]
        assert line["verdict"] == f"{mark} {word}"


@pytest.mark.parametrize("id_", CLAIMS)
def test_the_evidence_of_a_claim_prints_every_finding(
    id_: str, page: Page, findings: dict[str, list[dict[str, str]]], claims: dict[str, Any]
) -> None:
    text = page.text(f"claim-{id_}")
    assert plain(claims[id_]["claim"]) in text
    assert len(findings[id_]) == len(claims[id_]["findings"])
    for line, finding in zip(findings[id_], claims[id_]["findings"], strict=True):
        word = WORDS[finding["ok"]]
        assert (line["what"], line["the paper says"]) == (finding["about"], finding["expected"])
        assert line["our criterion"] == (finding["ours"] or "\N{EN DASH}")
        assert line["measured"] == plain(finding["measured"])
        assert line["agrees"] == f"{MARKS[word]} {word}"
        if "p that decides" in line:
            assert line["p that decides"] == ("\N{EN DASH}" if finding["p"] is None else p_text(finding["p"]))
        for pool, head in (("figure", "p, the figure alone"), ("all", "p, all 15")):
            if pool in finding["pools"]:
                assert line[head] == p_text(finding["pools"][pool]["p"])
                test = finding["pools"][pool]["friedman"]
                assert f"χ²({test['df']}) = {test['statistic']:.1f}, {p_text(test['p'])}" in text


def test_the_tally_counts_the_groups(page: Page, claims: dict[str, Any]) -> None:
    groups = [group(id_, claim["verdict"]) for id_, claim in claims.items()]
    texts = {
        "holds on its own": "hold on their own",
        "holds, but was used to choose a reading": "hold, but were used to choose a reading",
        "does not hold": "do not hold",
        "undecided": "are undecided",
    }
    singular = {"undecided": "is undecided"}
    summary = page.text("main")
    for word, text in texts.items():
        if word in groups:
            count = groups.count(word)
            assert f"{count} {text if count > 1 else singular.get(word, word)}" in summary


def test_every_finding_that_does_not_agree_is_listed(page: Page, claims: dict[str, Any]) -> None:
    against = [
        (id_, finding["about"], plain(finding["measured"]))
        for id_, claim in claims.items()
        for finding in claim["findings"]
        if (finding["ok"] is False if claim["verdict"] == "does not hold" else finding["ok"] is None)
    ]
    lines = page.lines("Findings that disagree or are undecided")
    assert [(line["claim"], line["what"], line["measured"]) for line in lines] == against


def test_every_variant_lists_the_verdicts_that_flip(page: Page, folder: Path, claims: dict[str, Any]) -> None:
    paper_run = PaperRun.open(folder)
    for variant in VARIANTS:
        other = variant_evidence(paper_run, variant)
        words = {id_: CLAIMS[id_].verdict(other).word for id_ in REEVALUATED}
        text = page.text(f"variant-{variant.id}")
        flips = [id_ for id_ in REEVALUATED if words[id_] != claims[id_]["verdict"]]
        number = f"{len(flips)} verdict" if flips else "no verdict flips"
        assert number in text
        for id_ in flips:
            before = claims[id_]["verdict"]
            assert f"{id_} {MARKS[before]} {before} → {MARKS[words[id_]]} {words[id_]}" in text
