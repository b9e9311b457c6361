"""Fitted readings are disclosed, and no claim used to fit a reading counts as independent evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from berlyne.paper.claims import CLAIMS, Evidence
from berlyne.paper.claims.fitted import FITTED
from berlyne.paper.claims.verdict import (
    FAILS,
    GROUP_TEXTS,
    HOLDS,
    INDEPENDENT,
    UNDECIDED,
    USED_FOR_FITTING,
    group_counts,
)
from berlyne.paper.reproduction.paper_text import READINGS

from .invented import as_published

CHOSEN_BY = {  # as the list of readings has it
    "R6": {"peig-vi"},
    "R7": {"peig-q", "cb", "pig-q"},
    "R12": {"embodiment-index"},
    "R16": {"controls", "lta"},
}
THEOREMS = ("theorem-1", "theorem-2")


def test_fitted_readings_are_those_of_the_list() -> None:
    assert {reading: set(fitted.chosen_by) for reading, fitted in FITTED.items()} == CHOSEN_BY
    assert set(FITTED) <= set(READINGS)
    assert all(fitted.rationale and fitted.reading == reading for reading, fitted in FITTED.items())


@pytest.mark.parametrize("claim", CLAIMS)
def test_no_independent_claim_is_among_the_evidence_of_a_fitted_reading(claim: str) -> None:
    used = {reading for reading, claims in CHOSEN_BY.items() if claim in claims}
    assert set(CLAIMS[claim].chose) == used
    assert CLAIMS[claim].group(HOLDS) == (USED_FOR_FITTING if used else INDEPENDENT)
    assert (CLAIMS[claim].group(FAILS), CLAIMS[claim].group(UNDECIDED)) == (FAILS, UNDECIDED)
    assert used <= set(CLAIMS[claim].rests_on)


def test_groups_are_counted_by_these_words() -> None:
    assert list(GROUP_TEXTS) == [INDEPENDENT, USED_FOR_FITTING, FAILS, UNDECIDED]


def test_one_claim_is_counted_in_the_singular() -> None:
    assert group_counts([FAILS, UNDECIDED, UNDECIDED, USED_FOR_FITTING]) == [
        "1 holds, but was used to choose a reading",
        "1 does not hold",
        "2 are undecided",
    ]
    assert group_counts([UNDECIDED]) == ["1 is undecided"]


@cache
def published() -> Evidence:
    return as_published()


def with_other(selects: Callable[[str], bool]) -> Evidence:
    """The evidence with all numbers of some strategies changed."""
    e = published()
    rng = np.random.default_rng(5)

    def changed(table: Any) -> Any:
        return {
            c: {s: v * np.exp(rng.normal(0, 0.5, v.shape)) if selects(s) else v for s, v in by.items()}
            for c, by in table.items()
        }

    tasks = e.stages["tasks"].copy(deep=True)
    names = [s for s in tasks["strategy"].values if selects(str(s))]
    for loss in ("navigation_loss", "reward_loss"):
        tasks[loss].loc[{"strategy": names}] = rng.normal(10, 1, tasks[loss].sel(strategy=names).shape)
    learned = e.stages["learned"]
    if selects("PIG(VI)"):
        learned = learned.assign(learned=learned["learned"] * np.linspace(1.0, 1.01, learned.sizes["time"]))
    stages = {**e.stages, "tasks": tasks, "learned": learned}
    return Evidence(changed(e.areas), changed(e.l1_areas), changed(e.curves), stages)


DECIDES: dict[str, Callable[[], Evidence]] = {  # what a reading decides, decided otherwise
    "R6": lambda: with_other(lambda name: name.startswith("PEIG")),
    "R7": lambda: with_other(lambda name: name.endswith("(Q)") and not name.startswith("PEIG")),
    "R12": lambda: with_other(lambda name: True),
    "R16": lambda: replace(published(), pool="figure"),
}


@pytest.mark.parametrize("reading", DECIDES)
@pytest.mark.parametrize("claim", [id_ for id_ in CLAIMS if id_ not in THEOREMS])
def test_a_claim_rests_on_the_readings_that_move_its_findings(claim: str, reading: str) -> None:
    before, after = (CLAIMS[claim].verdict(e).findings for e in (published(), DECIDES[reading]()))
    moved = any((b.measured, b.effect, b.p) != (a.measured, a.effect, a.p) for b, a in zip(before, after, strict=True))
    assert moved == (reading in CLAIMS[claim].rests_on)
