"""Texts of figures and readings in paper.toml."""

from __future__ import annotations

import re

import pytest

from berlyne.paper.claims.published import FIGURE_POOLS
from berlyne.paper.reproduction.assumptions import KEYS
from berlyne.paper.reproduction.figure_list import FIGURES
from berlyne.paper.reproduction.paper_text import FIGURE_TEXTS, READINGS
from berlyne.paper.reproduction.variants import VARIANTS


def test_every_figure_has_texts_and_every_text_a_figure() -> None:
    assert set(FIGURES) == set(FIGURE_TEXTS)
    assert len({text.title for text in FIGURE_TEXTS.values()}) == len(FIGURES)


@pytest.mark.parametrize("name", FIGURE_TEXTS)
def test_texts_are_sentences_without_names_in_braces(name: str) -> None:
    text = FIGURE_TEXTS[name]
    for part in (text.caption, text.paper_says, text.alt):
        assert part.endswith(".") and "  " not in part and "\n" not in part and ".." not in part
    assert set(re.findall(r"{(.*?)}", text.caption)) == {"n"}
    assert not re.search(r"[{}]", text.title + text.place + text.paper_says + text.alt)


def test_the_alternative_text_of_learning_curves_names_the_strategies() -> None:
    for name in set(FIGURE_POOLS) - {"fig8"}:
        assert ": " + ", ".join(FIGURE_POOLS[name]) + "." in FIGURE_TEXTS[name].alt
    assert "L1 distance" in FIGURE_TEXTS["figS4"].alt and "missing information" in FIGURE_TEXTS["fig7"].alt


def test_readings_are_numbered_and_contain_those_that_assumptions_and_variants_name() -> None:
    assert list(READINGS) == [f"R{i}" for i in range(1, len(READINGS) + 1)]
    assert {key.reading for key in KEYS.values()} - {""} <= set(READINGS)
    assert {variant.reading for variant in VARIANTS} <= set(READINGS)
    assert all(gap.endswith(".") and choice.endswith(".") for gap, choice in READINGS.values())
