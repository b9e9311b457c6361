"""The report for verdicts of every kind."""

from __future__ import annotations

import base64
import io
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from scipy.stats import kendalltau

from berlyne.experiments.store import StoreError
from berlyne.paper.claims import CLAIMS, Finding, Verdict
from berlyne.paper.claims.fitted import FITTED
from berlyne.paper.claims.verdict import PoolComparison
from berlyne.paper.reproduction import report
from berlyne.paper.reproduction.assumptions import DEFAULT, Assumptions, parse_assumptions
from berlyne.paper.reproduction.figure_list import FIGURES
from berlyne.paper.reproduction.page import misfit
from berlyne.paper.reproduction.page.context import PageContext, command
from berlyne.paper.reproduction.paper_run import PaperRun
from berlyne.paper.reproduction.paper_text import READINGS
from berlyne.paper.reproduction.robustness import REEVALUATED, Cell
from berlyne.paper.reproduction.variants import VARIANTS
from berlyne.priors import OneTwoThree
from berlyne.stats import Friedman
from berlyne.strategies.registry import PAPER_STRATEGIES

from .html_page import Page, plain

LOOKS = {True: ("yes", "✓", "holds"), False: ("no", "✗", "does not hold"), None: ("open", "?", "undecided")}
POOLS = {
    "curves": PoolComparison(True, 0.0125, Friedman(12.34, 11, 0.015)),
    "figure": PoolComparison(True, 0.5, Friedman(3.21, 5, 0.67)),
    "all": PoolComparison(True, 1e-20, Friedman(456.78, 14, 1e-80)),
}
PLC = {"utilities": ("PLC(VI)", "PIG(VI)"), "l1": ("PLC(VI)", "PIG(VI)"), "tasks-only": ("PLC(VI)",)}
"""Strategies of the findings of the misfit; the texts of these findings do not matter."""


def finding(ok: bool | None = True, about: str = "Mazes: CB against Random", **other: Any) -> Finding:
    fields = {
        "effect": 0.03, "low": 0.01, "high": 0.05, "unit": "area", "p": 0.0125, "pools": POOLS,
        "friedman": POOLS["curves"].friedman, **other,
    }  # fmt: skip
    return Finding(about, "worse (p < 0.001)", f"measured of {about}", ok, **fields)


def verdict(*oks: bool | None, **other: Any) -> Verdict:
    return Verdict(tuple(finding(ok, f"finding {i}", **other) for i, ok in enumerate(oks)))


def holding(**other: Verdict) -> dict[str, Verdict]:
    """Every claim holds, with two findings each, but for some."""
    return {id_: verdict(True, True) for id_ in CLAIMS} | {id_.replace("_", "-"): v for id_, v in other.items()}


def with_misfit(ok: bool | None = False) -> dict[str, Verdict]:
    return holding() | {
        id_: Verdict(
            (finding(True), finding(ok, f"one of {id_}", effect=0.029, low=0.012, high=0.046, strategies=pair))
        )
        for id_, pair in PLC.items()
    }


def moved(id_: str, before: Verdict, effect: float, ok: bool | None = True) -> Cell:
    """A claim whose first finding comes out otherwise."""
    first, *rest = before.findings
    return Cell(before, Verdict((finding(ok, first.about, effect=effect, p=0.04), *rest)))


def cells(verdicts: Mapping[str, Verdict], **moves: tuple[str, float, bool]) -> dict[str, dict[str, Cell]]:
    """Nothing moves but, under some variants, one claim."""
    table = {variant.id: {id_: Cell(verdicts[id_], verdicts[id_]) for id_ in REEVALUATED} for variant in VARIANTS}
    for name, (id_, effect, ok) in moves.items():
        table[name.replace("_", "-")][id_] = moved(id_, verdicts[id_], effect, ok)
    return table


def shown(verdicts: Mapping[str, Verdict], n_worlds: int = 200, folder: Path = Path(), **other: Any) -> PageContext:
    assumed = other.pop("assumed", DEFAULT)
    return PageContext(PaperRun(folder, n_worlds, 7, assumed), verdicts, **other)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "figures").mkdir()
    for i, name in enumerate(FIGURES):
        Image.new("RGB", (3, 2), (i, 0, 255)).save(tmp_path / "figures" / f"{name}.png")
    return tmp_path


def section(id_: str, context: PageContext) -> Page:
    """Parse one section of the page."""
    return Page(report.section(context, id_))


def test_the_tally_counts_claims_used_to_choose_a_reading_separately() -> None:
    verdicts = holding(l1=verdict(True, False), lta=verdict(None), cb=verdict(False))
    page = section("summary", shown(verdicts))
    chosen = {id_ for fitted in FITTED.values() for id_ in fitted.chosen_by}
    counted = [(*line.classes, *plain(line.text).split(" ", 1)) for line in page.root.all("ul", "tally")[0].all("li")]
    assert counted == [
        ("yes", str(len(CLAIMS) - len(chosen) - 1), "hold on their own"),
        ("helped", str(len(chosen) - 2), "hold, but were used to choose a reading"),
        ("no", "2", "do not hold"),
        ("open", "1", "is undecided"),
    ]
    assert "not independent evidence" in page.text()
    alone = [id_ for id_ in CLAIMS if id_ not in chosen and id_ != "l1"]
    resting = [id_ for id_ in alone if CLAIMS[id_].rests_on]
    assert f"{len(resting)} of its {len(alone)} claims were checked with fitted settings" in page.text()
    assert "undecided" not in section("summary", shown(holding())).text()


def test_few_worlds_give_a_note() -> None:
    note = "worlds of each class are too few"
    assert note in section("summary", shown(holding(), n_worlds=99)).text()
    assert note not in section("summary", shown(holding(), n_worlds=100)).text()


@pytest.mark.parametrize("ok", LOOKS)
def test_a_claim_has_the_word_and_the_look_of_its_verdict_in_table_and_evidence(ok: bool | None) -> None:
    class_, mark, word = LOOKS[ok]
    here = shown(holding(structure=verdict(ok)))
    group = "holds on its own" if ok else word
    (line,) = [line for line in section("claims", here).lines("Every claim") if line["claim"].startswith("structure")]
    assert line["verdict"] == f"{mark} {group}"
    page = section("evidence", here)
    assert f"{mark} {group}" in page.text("claim-structure")
    shown_verdict = page.by_id["claim-structure"].all("span", "verdict")[0]
    assert (shown_verdict.classes, plain(shown_verdict.text)) == (["verdict", class_], f"{mark} {group}")


def test_a_claim_lists_the_readings_it_depends_on_and_helped_to_choose() -> None:
    here = shown(holding())
    lines = {line["claim"].split()[0]: line for line in section("claims", here).lines("Every claim")}
    page = section("evidence", here)
    for id_, claim in CLAIMS.items():
        chose = [name for name, fitted in FITTED.items() if id_ in fitted.chosen_by]
        line = lines[id_]
        assert line["rests on"] == (", ".join(claim.rests_on) or "\N{EN DASH}")
        assert line["used to choose"] == (", ".join(chose) or "\N{EN DASH}")
        text = page.text(f"claim-{id_}")
        assert ("Used to choose " + ", ".join(chose) in text) if chose else ("Used to choose" not in text)
        assert ", ".join(claim.rests_on) in text


def test_every_finding_is_printed_with_its_p_in_every_pool_and_friedmans_tests() -> None:
    many_findings = Verdict(
        tuple(finding(ok, f"number {i}", ours=f"ours {i}") for i, ok in enumerate([True, False, None] * 4))
    )
    page = section("evidence", shown({"cb": many_findings}))
    lines = page.lines("Findings")
    assert lines == [
        {
            "what": f.about, "the paper says": "worse (p < 0.001)", "our criterion": f.ours, "measured": f.measured,
            "p that decides": "p = 0.013", "p, the figure alone": "p = 0.5", "p, all 15": "p < 1e-15",
            "agrees": "{1} {2}".format(*LOOKS[f.ok]),
        }
        for f in many_findings.findings
    ]  # fmt: skip
    text = page.text("claim-cb")
    tests = (
        "the 12 of the learning curves χ²(11) = 12.3, p = 0.015; the figure alone χ²(5) = 3.2, p = 0.67; "
        "all 15 χ²(14) = 456.8"
    )
    assert text.count(tests) == 12


def test_the_pool_that_decides_is_the_one_assumed() -> None:
    here = shown({"cb": verdict(True)}, assumed=Assumptions({"pool": "figure"}))
    (line,) = section("evidence", here).lines("Findings")
    assert [head for head in line if head.startswith("p")] == [
        "p that decides",
        "p, the 12 of the learning curves",
        "p, all 15",
    ]
    assert line["p, the 12 of the learning curves"] == "p = 0.013"


def test_a_finding_without_tests_has_no_columns_for_them() -> None:
    bare = Verdict((Finding("it", "so", "thus", True),))
    (line,) = section("evidence", shown({"cb": bare})).lines("Findings")
    assert line == {
        "what": "it", "the paper says": "so", "our criterion": "\N{EN DASH}", "measured": "thus", "agrees": "✓ holds",
    }  # fmt: skip


def test_failing_findings_are_listed_expected_against_measured(folder: Path) -> None:
    verdicts = holding(cb=verdict(False, True, False, False, False, None), lta=verdict(True, None))
    here = shown(verdicts, folder=folder, cells=cells(verdicts))
    lines = section("not-held", here).lines("Findings that disagree or are undecided")
    assert [(line["claim"], line["what"]) for line in lines] == [
        ("lta", "finding 1"),
        *(("cb", f"finding {i}") for i in (0, 2, 3, 4)),
    ]
    assert all(line["measured"] == f"measured of {line['what']}" for line in lines)
    assert "no variant changes the verdict" in lines[1]["why"]
    card = Page(report.page(here)).text("figure-fig6")
    assert "1 of 6 findings agree" in card
    assert all(f"finding {i}: measured of finding {i}" in card for i in (0, 2, 3, 4))


def test_failures_are_not_mentioned_if_all_claims_hold() -> None:
    assert section("not-held", shown(holding())).text() == ""


def test_the_misfit_is_explained_once_and_its_claims_point_there(folder: Path) -> None:
    verdicts = with_misfit()
    page = Page(report.page(shown(verdicts, folder=folder, cells=cells(verdicts))))
    assert page.ids.count("plc") == 1
    from_claims = {place for place, link in page.links if link == "#plc" and place.startswith("claim-")}
    assert from_claims == {"claim-utilities", "claim-l1", "claim-tasks-only"}
    why = {line["claim"]: line["why"] for line in page.lines("Findings that disagree or are undecided")}
    assert why == dict.fromkeys(PLC, "PLC(VI) against PIG(VI)")
    measured = page.lines("In this reproduction")
    assert [line["difference [95 %]"] for line in measured[:2]] == ["+2.9 % [+1.2, +4.6]"] * 2
    assert [line["p, all 15"] for line in measured[:2]] == ["p < 1e-15"] * 2
    assert measured[2]["difference [95 %]"] == "measured of one of tasks-only"


def test_other_failures_of_the_same_claims_do_not_point_to_the_misfit() -> None:
    verdicts = holding(utilities=Verdict((finding(False, "1-2-3 Worlds: PLC(VI)", strategies=("PMC(VI)", "PIG(VI)")),)))
    page = section("not-held", shown(verdicts, cells=cells(verdicts)))
    assert "#plc" not in [link for _, link in page.links] and "plc" not in page.ids


def test_the_range_of_the_misfit_over_variants_is_that_of_the_cells() -> None:
    verdicts = with_misfit()
    table = cells(verdicts)
    first, plc = verdicts["utilities"].findings
    for variant, effect in (("q-rate", -0.011), ("peig-0", 0.077)):
        after = finding(False, plc.about, effect=effect, p=0.25, strategies=plc.strategies)
        table[variant]["utilities"] = Cell(verdicts["utilities"], Verdict((first, after)))
    text = section("not-held", shown(verdicts, cells=table)).text()
    between = (
        "between -1.1 % (learning rate 0.1, epsilon 0.3) and +7.7 % (PEIG of an untried pair 0); the smallest "
        "p-value is p = 0.013"
    )
    assert between in text
    assert "Over 800 worlds" in text
    changed = shown(verdicts, cells=table, assumed=Assumptions({"gamma": 0.9}))
    assert "Over 800 worlds" not in section("not-held", changed).text()


def test_kinds_of_rows_by_hand() -> None:
    kinds = misfit.row_kinds(OneTwoThree(20))
    by = {(k.action, k.n_seen, k.first): k for k in kinds}
    assert len(by) == len(kinds) == 15
    row = np.array([0.25, *[0.75 / 19] * 19])  # action 1: the first observation tells all
    assert by[1, 0, False].pig == pytest.approx(-np.sum(row * np.log2(row)))
    assert by[1, 0, False].plc == pytest.approx(np.sum(row * 2 * (1 - row)) / 20)
    assert by[2, 1, True].pig == pytest.approx(0.25 * np.log2(19))  # state 1 again, or one of 19 others
    assert by[2, 1, True].plc == pytest.approx(0.5 * 2 * (0.5 - 1 / 38) / 20)
    known = [k for k in kinds if k.n_seen == k.action]
    assert len(known) == 6 and all(k.pig == k.plc == 0 for k in known)
    left = [k for k in kinds if k not in known]
    same, pairs = misfit.same_order(left)
    assert (2 * same - pairs) / pairs == pytest.approx(kendalltau([k.pig for k in left], [k.plc for k in left])[0])
    assert (same, pairs) == (34, 36)


def test_flips_by_a_hair_look_other_than_flips_by_an_effect_and_stand_at_the_claim() -> None:
    verdicts = holding()
    same = verdicts["cb"].findings[0].effect
    table = cells(verdicts, q_rate=("cb", 0.02, False), ties=("cb", 0.9, False), pool_all=("cb", same, False))
    here = shown(verdicts, cells=table)
    page = section("claims", here)
    (line,) = [row for row in page.root.all("tr") if "#claim-cb" in [e.attributes["href"] for e in row.all("a")]]
    flips = [(e.classes[1], e.attributes["href"]) for e in line.all("a", "flip")]
    assert flips == [("effect", "#variant-ties"), ("marginal", "#variant-q-rate"), ("pool", "#variant-pool-all")]
    claim = section("evidence", here).by_id["claim-cb"]
    assert [(e.classes[1], e.attributes["href"]) for e in claim.all("a", "flip")] == flips
    lines = {line["claim"].split(" ")[0]: line["flipped by"] for line in section("claims", here).lines("Every")}
    assert "no variant" in lines.values() and "not checked again" in lines.values()


def test_a_variant_shows_flips_moves_and_its_command() -> None:
    verdicts = holding()
    table = cells(verdicts, peig_0=("peig-vi", 0.956, True), q_rate=("cb", 0.02, False))
    table["peig-0"]["cb"] = moved("cb", verdicts["cb"], 0.1)
    here = shown(verdicts, cells=table)
    page = section("sensitivity", here)
    texts = {variant.id: page.text(f"variant-{variant.id}") for variant in VARIANTS}
    assert "no verdict flips" in texts["peig-0"]
    assert "Largest change: finding 0: +3.0 % (p = 0.013) → +95.6 % (p = 0.04) (peig-vi)" in texts["peig-0"]
    assert "1 verdict flips: 1 marginally" in texts["q-rate"]
    assert "cb ✓ holds → ✗ does not hold: finding 0: +3.0 % (p = 0.013) → +2.0 % (p = 0.04)" in texts["q-rate"]
    assert "no verdict flips. No area and no rank changes." in texts["cap"]
    lines = page.lines("Every claim that was checked again")
    assert len(lines) == len(VARIANTS) * len(REEVALUATED)
    assert [line["claim"] for line in lines if line["changes, before → after"] != "none"] == [
        "cb",
        "peig-vi",
        "cb",
    ]
    for variant in VARIANTS:
        assert command(variant.changes) in texts[variant.id]


def test_a_flip_is_described_by_the_findings_that_flip() -> None:
    verdicts = holding()
    table = cells(verdicts)
    after = Verdict((finding(False, "finding 0", effect=0.02), finding(True, "finding 1", effect=4.0)))
    table["q-rate"]["cb"] = Cell(verdicts["cb"], after)
    text = section("sensitivity", shown(verdicts, cells=table)).text("variant-q-rate")
    assert (
        "✗ does not hold: finding 0: +3.0 % (p = 0.013) → +2.0 % (p = 0.013) Largest change: finding 1: +3.0 %" in text
    )


def test_a_finding_that_turns_within_a_verdict_that_stays_is_not_hidden() -> None:
    verdicts = holding(utilities=verdict(True, False))
    here = shown(verdicts, cells=cells(verdicts, peig_0=("utilities", 0.04, False)))
    text = section("sensitivity", here).text("variant-peig-0")
    assert "no verdict flips" in text
    assert "utilities stays ✗ does not hold, but a finding flips: finding 0: +3.0 % (p = 0.013) → +4.0 %" in text


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.id)
def test_the_command_of_a_variant_assumes_what_the_variant_does(variant: Any) -> None:
    words = shlex.split(command(DEFAULT.replace(variant.changes).changed))
    assert words[:3] == ["berlyne", "reproduce", "FOLDER"] and set(words[3::2]) == {"--set"}
    assert parse_assumptions(words[4::2]) == DEFAULT.replace(variant.changes)


def test_the_default_is_compared_with_nothing(folder: Path) -> None:
    verdicts = holding()
    page = report.page(shown(verdicts, folder=folder, cells=cells(verdicts)))
    assert 'id="changes"' not in page and "not the default" not in page and "#changes" not in page


def test_other_assumptions_are_compared_with_the_default(folder: Path) -> None:
    default_verdicts = holding()
    now = {
        **default_verdicts,
        "cb": moved("cb", default_verdicts["cb"], 0.5, False).after,
        "l1": moved("l1", default_verdicts["l1"], 0.2).after,
    }
    assumed = Assumptions({"gamma": 0.9, "tasks.ranking": "average loss"})
    here = shown(now, folder=folder, cells=cells(now), default_verdicts=default_verdicts, assumed=assumed)
    html = report.page(here)
    page = Page(html)
    assert page.ids.index("changes") == page.ids.index("summary") + 1
    assert "This is not the default reading: gamma = 0.9, tasks.ranking = average loss" in page.text()
    assert [(line["key"], line["default"], line["here"]) for line in page.lines("Changed assumptions")] == [
        ("gamma", "1.0", "0.9"),
        ("tasks.ranking", "each time", "average loss"),
    ]
    lines = {line["claim"]: line for title, lines in page.tables if title == "Every claim" for line in lines}
    assert list(lines) == list(CLAIMS)
    moves = {id_: line["changes, default → here"] for id_, line in lines.items()}
    assert {id_ for id_, text in moves.items() if text != "none"} == {"cb", "l1"}
    assert "finding 0: +3.0 % (p = 0.013) → +50.0 % (p = 0.04)" in moves["cb"]
    assert lines["cb"]["verdict, default → here"] == "✓ holds → ✗ does not hold"
    assert "1 verdict flips: 1 because the effect changes against the default" in page.text()


def moves_of(here: PageContext, id_: str) -> str:
    """Return the text of the page about how a claim moved against the default."""
    tables = [lines for title, lines in Page(report.page(here)).tables if title == "Every claim"]
    (line,) = [line for lines in tables for line in lines if line["claim"] == id_]
    return line["changes, default → here"]


def test_findings_are_compared_by_what_they_are_about_where_one_side_has_more(folder: Path) -> None:
    default_verdicts = holding()
    now = {**default_verdicts, "learned-prior": Verdict(default_verdicts["learned-prior"].findings[1:])}
    here = shown(
        now, folder=folder, default_verdicts=default_verdicts, assumed=Assumptions({"learned.starts": (10.0,)})
    )
    assert moves_of(here, "learned-prior") == "none only under the default: finding 0: +3.0 % (p = 0.013)"


def test_findings_that_are_about_something_else_are_not_passed_off_as_the_same(folder: Path) -> None:
    default_verdicts = holding()
    now = {**default_verdicts, "learned-prior": Verdict((finding(False, "from 5 on", effect=0.2),))}
    here = shown(now, folder=folder, default_verdicts=default_verdicts, assumed=Assumptions({"learned.starts": (5.0,)}))
    moves = moves_of(here, "learned-prior")
    assert moves == (
        "only under the default: finding 0: +3.0 % (p = 0.013) only under the default: finding 1: +3.0 % (p = 0.013) "
        "only here: from 5 on: +20.0 % (p = 0.013)"
    )
    assert "1 verdict flips: 1 because the effect changes" in Page(report.page(here)).text("main")
    now["learned-prior"] = Verdict(
        (finding(True, "from 5 on", effect=0.2), default_verdicts["learned-prior"].findings[1])
    )
    here = shown(now, folder=folder, default_verdicts=default_verdicts, assumed=Assumptions({"learned.starts": (5.0,)}))
    assert "finding 0: +3.0 % (p = 0.013) → from 5 on: +20.0 % (p = 0.013)" in moves_of(here, "learned-prior")


def test_the_page_is_sound(folder: Path) -> None:
    verdicts = with_misfit()
    html = report.page(shown(verdicts, folder=folder, cells=cells(verdicts, ties=("cb", 0.9, False))))
    page = Page(html)
    assert page.wrong == [] and page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert [link for _, link in page.links if link.startswith("#") and link[1:] not in page.ids] == []
    assert {f"claim-{id_}" for id_ in CLAIMS} | {f"figure-{name}" for name in FIGURES} <= set(page.ids)
    assert {f"reading-{name}" for name in READINGS} | {f"variant-{variant.id}" for variant in VARIANTS} <= set(page.ids)
    assert page.headings[0] == 1 and page.headings.count(1) == 1
    assert all(after <= before + 1 for before, after in zip(page.headings, page.headings[1:], strict=False))
    assert len(page.root.all("img")) == len(FIGURES)
    assert all(len(image.attributes["alt"]) > 30 for image in page.root.all("img"))
    assert all(caption for caption, _ in page.tables)
    assert all("" not in line for _, lines in page.tables for line in lines)  # every column has a heading
    assert not re.search(r"https?://", html)
    assert all(e.attributes["src"].startswith("data:image/webp;base64,") for e in page.root.all("img"))


def test_every_strategy_is_introduced(folder: Path) -> None:
    verdicts = holding()
    text = Page(report.page(shown(verdicts, folder=folder))).text("main")
    opening = text.split("How to read a learning curve")[0]
    assert all(name in opening for name in PAPER_STRATEGIES)
    assert all(f"{title}" in opening for title in ("Dense Worlds", "Mazes", "1-2-3 Worlds"))
    assert "25%, 44%, 58%" in opening and "36 states, 4 actions, 2500 steps" in opening


def test_fitted_readings_describe_how_they_were_chosen(folder: Path) -> None:
    lines = Page(report.page(shown(holding(), folder=folder))).lines("Fitted readings")
    assert [line["reading"] for line in lines] == list(FITTED)
    for line, fitted in zip(lines, FITTED.values(), strict=True):
        assert line["how it was chosen"] == plain(fitted.rationale)
        assert all(id_ in line["chosen by"] for id_ in fitted.chosen_by)
        rest = [
            id_ for id_, claim in CLAIMS.items() if fitted.reading in claim.rests_on and id_ not in fitted.chosen_by
        ]
        assert line["other claims that rest on it"] == ", ".join(rest)


def test_no_report_is_made_again_without_the_default_to_compare_with(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paper_run = PaperRun(folder, 4, 0, Assumptions({"gamma": 0.9}))
    monkeypatch.setattr(PaperRun, "open", lambda _: paper_run)
    monkeypatch.setattr(report.Freshness, "is_current", lambda *_: True)
    with pytest.raises(StoreError, match=r"default results.*berlyne reproduce"):
        report.rebuild_report(folder)


def test_a_variant_without_recomputed_tasks_is_marked() -> None:
    verdicts = holding()
    page = section("sensitivity", shown(verdicts, cells=cells(verdicts)))
    for variant in VARIANTS:
        text = page.text(f"variant-{variant.id}")
        assert ("Tasks were not recomputed, so claims about them were not checked again." in text) is not variant.tasks


def test_texts_are_escaped_wherever_they_are_inserted(folder: Path) -> None:
    text = "<script>alert(1)</script> & <b>p < 0.001</b>"
    verdicts = {id_: Verdict((finding(False, text, ours=text),)) for id_ in CLAIMS}
    page = Page(report.page(shown(verdicts, folder=folder, cells=cells(verdicts, ties=("cb", 0.9, True)))))
    assert page.wrong == [] and len(page.root.all("script")) == 1  # that of the page
    lines = page.lines("Findings")
    assert len(lines) == 2 * len(CLAIMS)
    assert all(line["what"] == line["our criterion"] == text for line in lines)


def test_embedded_figures_have_the_pixels_of_the_files(folder: Path) -> None:
    page = Page(report.page(shown(holding(), folder=folder)))
    for name in FIGURES:
        (image,) = page.by_id[f"figure-{name}"].all("img")
        content = base64.b64decode(image.attributes["src"].partition(",")[2])
        with Image.open(io.BytesIO(content)) as embedded, Image.open(folder / "figures" / f"{name}.png") as file:
            assert embedded.format == "WEBP"
            assert embedded.convert("RGB").tobytes() == file.tobytes()
