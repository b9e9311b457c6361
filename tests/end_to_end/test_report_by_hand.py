"""The report and claims.json say what the stored numbers say, with the right word, mark and colour."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import friedmanchisquare, rankdata, studentized_range

from berlyne.claims import CLAIMS, Evidence
from berlyne.reproduction.sensitivity import VARIANTS

from .by_hand import STRATEGIES, stage, stored
from .test_figures_by_hand import lines

pytestmark = pytest.mark.slow

MARKS = {"holds": ("yes", "✓"), "does not hold": ("no", "✗"), "undecided": ("open", "?")}
WORDS = {True: "holds", False: "does not hold", None: "undecided"}


@pytest.fixture(scope="module")
def folder(finished: tuple[Path, str]) -> Path:
    return finished[0]


@pytest.fixture(scope="module")
def said(folder: Path) -> dict[str, Any]:
    """What claims.json says, by claim."""
    return {claim["id"]: claim for claim in json.loads((folder / "claims.json").read_text())}


@pytest.fixture(scope="module")
def evidence(folder: Path) -> Evidence:
    """What there is to judge by, gathered here."""
    areas, l1_areas, curves = {}, {}, {}
    for name, here in stored(folder).items():
        by = {s: here.sel(strategy=s) for s in STRATEGIES}
        areas[name] = {s: of["area"].values for s, of in by.items()}
        l1_areas[name] = {s: of["l1_distance"].values.astype(float).sum(axis=1) for s, of in by.items()}
        curves[name] = {s: of["missing_information"].values.astype(float).mean(axis=0) for s, of in by.items()}
    stages = {name: stage(folder, name) for name in ("structure", "gains", "tasks", "learned")}
    return Evidence(areas, l1_areas, curves, stages)


@pytest.mark.parametrize("id_", CLAIMS)
def test_claims_json_says_what_the_stored_numbers_say(id_: str, said: dict[str, Any], evidence: Evidence) -> None:
    verdict, found = CLAIMS[id_].verdict(evidence), said[id_]
    assert (found["verdict"], found["claim"], found["place"]) == (verdict.word, CLAIMS[id_].text, CLAIMS[id_].place)
    assert len(found["findings"]) == len(verdict.findings)
    for ours, theirs in zip(verdict.findings, found["findings"], strict=True):
        assert (theirs["about"], theirs["expected"], theirs["ok"]) == (ours.about, ours.expected, ours.ok)
        for key in ("effect", "low", "high", "p", "p_all"):
            number = getattr(ours, key)
            assert theirs[key] == (None if number is None else pytest.approx(number, rel=1e-5, nan_ok=True))
        for key in ("friedman", "friedman_all"):
            test = getattr(ours, key)
            assert theirs[key] == (None if test is None else {"statistic": test[0], "df": test[1], "p": test[2]})


def test_a_pair_in_claims_json_worked_out_by_scipy(said: dict[str, Any], evidence: Evidence) -> None:
    found = said["cb"]["findings"][3]
    assert found["about"] == "Mazes: CB against PIG(VI)"
    areas = evidence.areas["maze"]
    for pool, key in ((("Unembodied", "Random", "LTA", "CB", "PEIG(Q)", "PIG(VI)"), ""), (STRATEGIES, "_all")):
        values = np.stack([areas[name] for name in pool], axis=1)
        mean, k = rankdata(values, axis=1).mean(axis=0), len(pool)
        gap = abs(mean[pool.index("CB")] - mean[pool.index("PIG(VI)")])
        p = studentized_range.sf(gap / np.sqrt(k * (k + 1) / 12 / len(values)), k, np.inf)
        assert found[f"p{key}"] == pytest.approx(p, rel=1e-6)
        test = friedmanchisquare(*values.T)
        assert found[f"friedman{key}"] == pytest.approx({"statistic": test.statistic, "df": k - 1, "p": test.pvalue})


class Tables(HTMLParser):
    """Headings with an id, and after each its paragraphs' lines of tables: cells as (class, title, text)."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.headings: dict[str, list[Any]] = {}
        self.rows: dict[str, list[list[list[Any]]]] = {}
        self.tally: list[list[Any]] = []
        self.at = ""
        self.into: list[Any] | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ("h2", "h3"):
            self.at = str(given.get("id"))
            self.rows[self.at] = []
            self.headings[self.at] = self.into = [None, None, ""]
        elif tag == "tr":
            self.rows[self.at].append([])
        elif tag == "td":
            self.into = [given.get("class"), given.get("title"), ""]
            self.rows[self.at][-1].append(self.into)
        elif tag == "li" and given.get("class"):
            self.into = [given["class"], None, ""]
            self.tally.append(self.into)
        elif tag == "span" and self.into is not None and given.get("class") in ("yes", "no", "open"):
            self.into[0] = given["class"]

    def handle_endtag(self, tag: str) -> None:
        if tag in ("h2", "h3", "td", "li"):
            self.into = None

    def handle_data(self, data: str) -> None:
        if self.into is not None:
            self.into[2] += data


@pytest.fixture(scope="module")
def page(folder: Path) -> Tables:
    return Tables((folder / "report.html").read_text())


def test_the_table_of_claims_has_word_mark_and_class_of_claims_json(page: Tables, said: dict[str, Any]) -> None:
    rows = page.rows["claims"][1:]  # after the heading of the table
    assert [row[0][2] for row in rows] == list(said)
    for row, claim in zip(rows, said.values(), strict=True):
        class_, mark = MARKS[claim["verdict"]]
        assert (row[2][0], row[2][2]) == (f"verdict {class_}", f"{mark} {claim['verdict']}")
        assert claim["claim"] in row[1][2]


@pytest.mark.parametrize("id_", CLAIMS)
def test_the_evidence_of_a_claim_has_the_marks_of_its_findings(id_: str, page: Tables, said: dict[str, Any]) -> None:
    word = said[id_]["verdict"]
    assert page.headings[f"claim-{id_}"] == [MARKS[word][0], None, f"{id_}: {word}"]
    rows = page.rows[f"claim-{id_}"][1:]
    assert len(rows) == len(said[id_]["findings"])
    for row, finding in zip(rows, said[id_]["findings"], strict=True):
        word = WORDS[finding["ok"]]
        assert [cell[2] for cell in row[:3]] == [finding["about"], finding["expected"], finding["measured"]]
        assert row[5] == [MARKS[word][0], word, MARKS[word][1]]
        for cell, p, test in ((row[3], "p", "friedman"), (row[4], "p_all", "friedman_all")):
            assert (cell[2] == "") == (finding[p] is None and finding[test] is None)
            if finding[p] is not None and finding[p] >= 1e-15:
                assert cell[2].startswith(f"{finding[p]:.2g}")
            if finding[test] is not None:
                assert f"χ²({finding[test]['df']})\xa0=\xa0{finding[test]['statistic']:.1f}" in cell[2]


def test_the_tally_counts_the_verdicts(page: Tables, said: dict[str, Any]) -> None:
    words = [claim["verdict"] for claim in said.values()]
    texts = {"holds": "claims hold", "does not hold": "do not hold", "undecided": "undecided"}
    expected = [[MARKS[word][0], None, f"{words.count(word)}{text}"] for word, text in texts.items()]
    assert page.tally == expected


def test_the_table_of_variants_lists_the_verdicts_that_change(page: Tables, folder: Path) -> None:
    found = {(line["variant"], line["claim"]): line["verdict"] for line in lines(folder, "sensitivity")}
    claims = list(dict.fromkeys(claim for _, claim in found))
    for row, variant in zip(page.rows["sensitivity"][1:], VARIANTS, strict=True):
        changes = [
            f"{id_}: {found['as read', id_]} → {found[variant.id, id_]}"
            for id_ in claims
            if found[variant.id, id_] != found["as read", id_]
        ]
        assert [cell[2] for cell in row] == [variant.reading, variant.text, "".join(changes) or "no verdict changes"]
