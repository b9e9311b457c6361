"""What the report makes of verdicts of every kind."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from berlyne.claims import Finding, Verdict
from berlyne.reproduction import report
from berlyne.reproduction.study import Study
from berlyne.stats import Friedman

LOOKS = {
    True: ("yes", "✓", "holds"),
    False: ("no", "✗", "does not hold"),
    None: ("open", "?", "undecided"),
}


def finding(ok: bool | None) -> Finding:
    tests = (0.0125, 1e-20, Friedman(12.34, 4, 0.015), Friedman(456.78, 14, 1e-80))
    return Finding("Mazes: CB against Random", "worse", "area +3 %", ok, 0.03, 0.01, 0.05, *tests)


@pytest.mark.parametrize("ok", LOOKS)
def test_a_claim_has_the_word_the_mark_and_the_class_of_its_verdict(ok: bool | None) -> None:
    class_, mark, word = LOOKS[ok]
    found = {"cb": Verdict((finding(ok),))}
    assert f'<td class="verdict {class_}">{mark} {word}</td>' in report._claims_table(found)
    evidence = report._evidence(found)
    assert f'<h3 id="claim-cb">cb: <span class="{class_}">{word}</span></h3>' in evidence
    assert f'<td class="{class_}" title="{word}">{mark}</td>' in evidence


def test_the_summary_counts_verdicts_and_lists_what_does_not_hold() -> None:
    found = {"cb": Verdict((finding(False),)), "lta": Verdict((finding(None),)), "l1": Verdict((finding(True),) * 2)}
    page = report._summary(Study(Path(), 99, 7), {**found, "pig-q": found["l1"]}, {"a": 2.0, "b": 3.0})
    tally = re.findall(r'<li class="(\w+)"><b>(\d)</b>([^<]+)</li>', page)
    assert tally == [("yes", "2", "claims hold"), ("no", "1", "do not hold"), ("open", "1", "undecided")]
    assert re.findall(r'<a href="#claim-([a-z0-9-]+)">', page) == ["cb"]
    assert "cb</a>: Mazes: CB against Random: area +3 %" in page
    assert "5 seconds of computing" in page
    assert "equality cannot be decided" in page
    assert "equality" not in report._summary(Study(Path(), 100, 7), found, {})


def test_a_finding_shows_both_p_values_and_friedmans_tests_of_both_pools() -> None:
    cells = re.findall(r"<td>(.*?)</td>", report._evidence({"cb": Verdict((finding(True),))}))
    shown = [re.sub(r"<[^>]*>", "", cell).replace("&nbsp;", " ").replace("&lt;", "<") for cell in cells]
    assert shown == [
        "Mazes: CB against Random",
        "worse",
        "area +3 %",
        "0.013 (χ²(4) = 12.3, p = 0.015)",
        "< 1e-15 (χ²(14) = 456.8, p < 1e-15)",
    ]


def test_a_finding_without_tests_shows_none() -> None:
    cells = re.findall(r"<td>(.*?)</td>", report._finding(Finding("it", "so", "thus", True)))
    assert cells == ["it", "so", "thus", "", ""]


def test_claims_json_names_the_parts_of_friedmans_test() -> None:
    (claim,) = json.loads(json.dumps(report._as_data({"cb": Verdict((finding(False),))})))
    (found,) = claim["findings"]
    assert (claim["verdict"], found["ok"], found["p"], found["p_all"]) == ("does not hold", False, 0.0125, 1e-20)
    assert found["friedman"] == {"statistic": 12.34, "df": 4, "p": 0.015}
    assert found["friedman_all"] == {"statistic": 456.78, "df": 14, "p": 1e-80}
