"""The cases of a pairwise test contain every value, and every pair of factors of different parameters."""

from itertools import product

from berlyne import strategy
from pairwise import numbered, select

KINDS = ("maze", "dense", "1-2-3")
PLAIN = [strategy(f"{utility}({method})") for utility in ("PIG", "PLC", "PMC") for method in ("VI", "greedy", "Q")]
STRATEGIES = [*PLAIN, strategy("PIG(VI)", temperature=0.5), strategy("PIG(VI)", steps_back=3)]


def cases_of(**parameters):
    return numbered([dict(zip(parameters, values, strict=True)) for values in product(*parameters.values())])


def kept_of(cases):
    """The values of the cases that are kept."""
    kept = [case for case, keep in zip(cases, select(cases), strict=True) if keep]
    return [{name: choice.value for name, choice in case.items()} for case in kept]


CASES = cases_of(kind=KINDS, strategy=STRATEGIES, seed=range(4))


def test_every_value_occurs():
    kept = kept_of(CASES)
    assert {case["kind"] for case in kept} == set(KINDS)
    assert {str(case["strategy"]) for case in kept} == {str(s) for s in STRATEGIES}
    assert {case["seed"] for case in kept} == set(range(4))


def test_every_pair_of_factors_occurs():
    kept = kept_of(CASES)
    assert {(case["kind"], case["seed"]) for case in kept} == set(product(KINDS, range(4)))
    for other, values in (("kind", KINDS), ("seed", range(4))):
        utilities = {(case["strategy"].utility, case[other]) for case in kept}
        assert utilities == set(product(("PIG", "PLC", "PMC"), values))
        methods = {(type(case["strategy"].coordinate).__name__, case[other]) for case in kept}
        assert methods == set(product(("ValueIteration", "Greedy", "QLearning"), values))
        warm = {(case["strategy"].temperature > 0, case[other]) for case in kept}
        assert warm == set(product((False, True), values))


def test_it_is_a_small_part_of_the_product():
    assert len(kept_of(CASES)) < len(CASES) / 3


def test_a_strategy_may_be_given_by_name():
    kept = kept_of(cases_of(kind=KINDS, name=["PIG(VI)", "PIG(greedy)", "PMC(VI)", "PLC(VI)"]))
    assert {(case["name"], case["kind"]) for case in kept if case["name"] == "PIG(greedy)"} == {
        ("PIG(greedy)", kind)
        for kind in KINDS  # no other name has this method
    }
    assert len(kept) < 12


def test_two_plain_parameters_are_combined_fully():
    assert all(select(cases_of(a=range(3), b="wxyz")))
