"""Sentences about strategies, for every strategy of the table and for your own."""

from __future__ import annotations

import pytest

import berlyne
from berlyne.strategies.coordination import Greedy
from berlyne.watch.explain import explain_strategy


@pytest.mark.parametrize("name", [*berlyne.STRATEGIES, "PMC(Q)", "PIG(VI, steps_back=3)", "PIG(fluid)"])
def test_every_strategy_has_one_plain_sentence(name: str) -> None:
    sentence = explain_strategy(berlyne.strategy(name))
    assert sentence.startswith(("It ", "A control ")) and sentence.endswith(".") and ". " not in sentence
    assert 30 < len(sentence) < 240 and "own method" not in sentence


def test_sentences_name_what_distinguishes_strategies() -> None:
    for name, words in [
        ("PIG(VI, steps_back=3)", ("plans 3 steps", "its own model", "PIG")),
        ("PIG(VI+)", ("the true world", "control")),
        ("PEIG(Q)", ("Q-learning", "PEIG")),
        ("PIG(greedy)", ("no further",)),
        ("LTA", ("least often in this state",)),
        ("MaxEnt", ("all actions in all states", "equally often")),
        ("MaxEnt(states)", ("visit all states equally often",)),
        ("R-max(VI)", ("plans 10 steps", "less than 5 times")),
        ("PIG(hopeful VI)", ("plans 20 steps", "PIG", "hopes")),
        ("PIG(fluid)", ("how often", "30 steps")),
        ("CB", ("visited least often",)),
        ("Unembodied", ("jump", "PIG")),
        ("PIG(VI, temperature=0.1, lapse=0.02)", ("more likely", "2%")),
    ]:
        assert all(word in explain_strategy(berlyne.strategy(name)) for word in words), name
    sentences = [explain_strategy(berlyne.strategy(name)) for name in berlyne.STRATEGIES]
    assert len(set(sentences)) == len(sentences)


def test_your_own_parts_are_named() -> None:
    def thirst(theta_hat: object, theta_hat_after: object) -> float:
        return 0.0

    assert "largest thirst" in explain_strategy(berlyne.Strategy("mine", Greedy(), thirst))
    assert "own method, function" in explain_strategy(berlyne.Strategy("mine", lambda view, s, u: 0))
