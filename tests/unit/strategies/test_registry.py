"""The table of strategies, and valid and invalid names."""

import numpy as np
import pytest

import berlyne
from berlyne import STRATEGIES, UTILITIES, Strategy, explore, maze, replay
from berlyne.strategies.coordination import METHODS_BY_NAME, Greedy, QLearning, TrueModel, ValueIteration
from berlyne.strategies.planning import RMax
from berlyne.strategies.registry import PAPER_STRATEGIES, get_strategy
from messages import raises


def test_the_fifteen_of_the_paper():
    assert set(PAPER_STRATEGIES) == {
        "Random", "Unembodied", "LTA", "CB", "PIG(VI+)", "PIG(Q)", "PEIG(Q)",
        *(f"{utility}({method})" for utility in ("PIG", "PEIG", "PMC", "PLC") for method in ("greedy", "VI")),
    }  # fmt: skip
    for name, strategy in STRATEGIES.items():
        assert get_strategy(name) is strategy and str(strategy) == strategy.name == name


def test_privileges_are_visible():
    assert [name for name, strategy in STRATEGIES.items() if strategy.sees_world] == ["PIG(VI+)"]
    assert [name for name, strategy in STRATEGIES.items() if strategy.relocates] == ["Unembodied", "Generative"]


def test_parameters_are_the_papers():
    """Readings R5 and R7."""
    assert STRATEGIES["PIG(VI)"].coordinate == ValueIteration(steps_back=10, gamma=1.0)
    assert STRATEGIES["PIG(VI+)"].coordinate == TrueModel(ValueIteration(steps_back=10, gamma=1.0))
    assert STRATEGIES["PEIG(Q)"].coordinate == QLearning(learning_rate=0.5, gamma=0.9, epsilon=0.2, initial=0.0)
    assert all(strategy.untried is None for strategy in STRATEGIES.values())


@pytest.mark.parametrize("utility", UTILITIES)
@pytest.mark.parametrize("method", METHODS_BY_NAME)
def test_any_utility_goes_with_any_method(utility, method):
    strategy = get_strategy(f"{utility}({method})")
    if strategy.name == "R-max(VI)":  # the algorithm of that name, with a method of its own
        assert strategy.utility is None and type(strategy.coordinate) is RMax
        return
    assert strategy.utility == utility and type(strategy.coordinate) is METHODS_BY_NAME[method]
    assert explore(maze(0), strategy, n_steps=5).n_steps == 5


@pytest.mark.parametrize(
    ("name", "parameters", "full_name"),
    [
        ("PIG(VI)", {"steps_back": 30, "gamma": 0.95}, "PIG(VI, steps_back=30, gamma=0.95)"),
        ("PIG(VI)", {"gamma": 0.95, "steps_back": 30}, "PIG(VI, steps_back=30, gamma=0.95)"),
        ("PMC(Q)", {"learning_rate": 0.2}, "PMC(Q, learning_rate=0.2)"),
        ("PIG(VI+)", {"steps_back": 5}, "PIG(VI+, steps_back=5)"),
        ("PEIG(VI)", {"untried": 0.0, "gamma": 0.5}, "PEIG(VI, gamma=0.5, untried=0.0)"),
        ("LTA", {"ties": "first"}, "LTA(ties=first)"),
        ("PIG(VI)", {"gamma": 0.5, "ties": "first"}, "PIG(VI, gamma=0.5, ties=first)"),
        ("PEIG(Q)", {"initial": -1.5, "epsilon": 1e-5}, "PEIG(Q, epsilon=1e-05, initial=-1.5)"),
    ],
)
def test_parameters_become_part_of_the_name(name, parameters, full_name):
    strategy = get_strategy(name, **parameters)
    assert strategy.name == full_name
    assert get_strategy(full_name) == strategy
    method = strategy.coordinate.inner if strategy.sees_world else strategy.coordinate
    for key, value in parameters.items():
        assert getattr(strategy if key in ("untried", "ties") else method, key) == value


@pytest.mark.parametrize("name", [" PIG(VI)", "LTA\n", "  PMC(Q) ", " PIG(VI, gamma=0.5) "])
def test_blanks_around_a_name_do_not_matter(name):
    assert get_strategy(name) == get_strategy(name.strip()) and get_strategy(name).name == name.strip()


def test_a_strategy_may_be_given_by_keyword():
    world = maze(0)
    run = explore(world, strategy="LTA", n_steps=50)
    assert run.strategy.name == "LTA" and np.array_equal(run.actions, explore(world, "LTA", 50).actions)
    assert replay(world, run, strategy="LTA").identical(replay(world, run, "LTA"))


def test_parameters_change_the_actions():
    short, long = (explore(maze(0), get_strategy("PIG(VI)", steps_back=n), n_steps=300) for n in (0, 30))
    assert not np.array_equal(short.actions, long.actions)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("PIG(IV)", ("'PIG(IV)'", "PIG(VI)")),
        ("pg(vj)", ("strategy", "'pg(vj)'")),
        ("Unembodied+", ("'Unembodied+'", "Unembodied")),
        ("Randon", ("'Randon'", "Random")),
        ("PEG(VI)", ("'PEG(VI)'", "PEIG(VI)")),
        ("", ("''", "Random, Unembodied, LTA")),
        ("PIG(VI, gamma=high)", ("'PIG(VI, gamma=high)'", "numbers")),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(name, message):
    with raises(ValueError, *message):
        get_strategy(name)


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("PIG(VI)", {"gamma": 1.1}, ("gamma", "1.1", "[0, 1]")),
        ("PIG(VI)", {"gamma": -0.1}, ("gamma", "-0.1", "[0, 1]")),
        ("PIG(VI)", {"gamma": float("nan")}, ("gamma", "nan", "[0, 1]")),
        ("PIG(VI+)", {"gamma": 2}, ("gamma", "2.0", "[0, 1]")),
        ("PIG(VI)", {"steps_back": -1}, ("steps_back", "-1", "0")),
        ("PIG(VI)", {"steps_back": 1.5}, ("steps_back", "1.5", "0")),
        ("PIG(Q)", {"gamma": 1.1}, ("gamma", "1.1", "[0, 1]")),
        ("PIG(Q)", {"learning_rate": 2}, ("learning_rate", "2.0", "[0, 1]")),
        ("PIG(Q)", {"epsilon": -1}, ("epsilon", "-1.0", "[0, 1]")),
        ("PEIG(VI)", {"untried": float("inf")}, ("untried", "inf")),
        ("PIG(VI)", {"epsilon": 0.1}, ("PIG(VI)", "'epsilon'", "steps_back, gamma")),
        ("PIG(VI)", {"untried": 0.1}, ("PIG(VI)", "'untried'", "steps_back, gamma")),
        ("PIG(greedy)", {"gamma": 0.1}, ("PIG(greedy)", "'gamma'")),
        ("Random", {"seed": 1}, ("Random", "'seed'")),
    ],
)
def test_bad_parameters_are_refused(name, parameters, message):
    with raises(ValueError, *message):
        get_strategy(name, **parameters)


def test_strategies_are_checked_when_they_are_made():
    with raises(ValueError, "'FUN'", "PIG, PEIG, PMC, PLC", "rarity"):
        Strategy("mine", Greedy(), "FUN")
    with raises(ValueError, "coordinate", "3", "values", "choose"):
        Strategy("mine", 3, "PIG")
    with raises(ValueError, "untried", "'x'"):
        Strategy("mine", Greedy(), "PEIG", untried="x")
    with raises(ValueError, "parameters", "name of a strategy", "Strategy object"):
        get_strategy(STRATEGIES["PIG(VI)"], gamma=0.5)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("pig(vi)", "PIG(VI)"),
        ("PIG(vi)", "PIG(VI)"),
        ("Pig(Greedy)", "PIG(greedy)"),
        ("unembodied", "Unembodied"),
        ("lta", "LTA"),
        ("pmc(q)", "PMC(Q)"),
        ("pig(vi, gamma=0.9)", "PIG(VI, gamma=0.9)"),
        ("pig(vi+)", "PIG(VI+)"),
    ],
)
def test_names_of_strategies_without_regard_to_case(text, name):
    assert berlyne.strategy(text) == berlyne.strategy(name) and berlyne.strategy(text).name == name


def test_two_names_that_differ_in_case_only_are_told_apart():
    for name in ("Bonus", "bonus"):
        berlyne.index(name)(lambda row: 1.0 / (1.0 + row.n))
    try:
        assert berlyne.strategy("bonus(VI)").utility == "bonus" and berlyne.strategy("Bonus(vi)").utility == "Bonus"
        with pytest.raises(ValueError, match=r"there is no strategy 'BONUS\(VI\)'; did you mean .*onus"):
            berlyne.strategy("BONUS(VI)")
    finally:
        del berlyne.UTILITIES["Bonus"], berlyne.UTILITIES["bonus"]


@pytest.mark.parametrize(
    "use",
    [
        lambda: berlyne.strategy("novelty(VI)"),
        lambda: berlyne.strategy("Novelty(greedy, temperature=0.1)"),
        lambda: Strategy("mine", Greedy(), "novelty"),
        lambda: explore(maze(0), "LTA", 5).model.plot("novelty"),
        lambda: berlyne.novelty,
    ],
)
def test_novelty_is_refused_with_both_of_its_meanings(use):
    with pytest.raises((ValueError, AttributeError), match=r"novelty.*parameter_gain.*rarity"):
        use()
