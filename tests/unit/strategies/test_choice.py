"""From values to actions: softmax, lapses and ties, in plain NumPy and compiled, in names, files and settings."""

import json
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

from berlyne import STRATEGIES, Dirichlet, Experiment, Explorer, Strategy, explore, maze
from berlyne.engine import argmax
from berlyne.strategies.choice import ChoiceRule, sample_index
from berlyne.strategies.coordination import QLearning, UniformChoice, ValueIteration
from berlyne.strategies.registry import get_strategy
from messages import raises
from unit.engine.kernels import as_kernel

sample_softmax = as_kernel(argmax.sample_softmax)

VALUES = np.array([0.3, 1.0, 0.3, -2.0])
GRID = [np.array([(i + 0.5) / 400, (j + 0.5) / 50]) for i in range(400) for j in range(50)]


def shares(rule, values):
    """How much of the unit square of `u` each action has, to 1/400 per border: what `probabilities` must say."""
    return np.bincount([rule.choose(values, u) for u in GRID], minlength=len(values)) / len(GRID)


@pytest.mark.parametrize("temperature", [0.05, 0.5, 1.0, 20.0])
def test_softmax_against_scipy(temperature):
    expected = softmax(VALUES / temperature)
    assert ChoiceRule(temperature).probabilities(VALUES) == pytest.approx(expected, rel=1e-12)
    with_lapses = ChoiceRule(temperature, lapse=0.1).probabilities(VALUES)
    assert with_lapses == pytest.approx(0.9 * expected + 0.025, rel=1e-12)


@pytest.mark.parametrize(
    "rule", [ChoiceRule(), ChoiceRule(0.7), ChoiceRule(lapse=0.3), ChoiceRule(0.7, 0.3)], ids=lambda rule: repr(rule)
)
@pytest.mark.parametrize("values", [VALUES, np.array([1.0, 2.0, 2.0]), np.zeros(5), np.array([-3.0])])
def test_choices_have_the_stated_probabilities(rule, values):
    probabilities = rule.probabilities(values)
    assert probabilities.sum() == pytest.approx(1.0, abs=1e-12)
    assert shares(rule, values) == pytest.approx(probabilities, abs=4e-3)


def test_ties_share_within_the_tolerance_and_the_first_may_have_it_all():
    values = np.array([1.0, 2.0, 2.0 * (1 - 1e-13), 2.0 * (1 - 1e-11)])
    assert ChoiceRule().probabilities(values).tolist() == [0.0, 0.5, 0.5, 0.0]
    assert ChoiceRule(first=True).probabilities(values).tolist() == [0.0, 1.0, 0.0, 0.0]
    many = np.array([values, values[::-1], np.zeros(4)])
    assert ChoiceRule(first=True).probabilities(many).argmax(axis=1).tolist() == [1, 1, 0]
    assert ChoiceRule().probabilities(many)[2].tolist() == [0.25] * 4


@pytest.mark.parametrize("temperature", [1e-300, 1e-5, 1e12])
def test_softmax_of_any_values_is_safe(temperature):
    for values in (VALUES * 1e300, VALUES * 1e-300, VALUES + 1e6, np.array([0.0, -np.inf, 5.0])):
        probabilities = ChoiceRule(temperature).probabilities(values)
        assert np.all(np.isfinite(probabilities)) and probabilities.sum() == pytest.approx(1.0)
        for u in (0.0, 0.5, np.nextafter(1.0, 0.0)):
            chosen = ChoiceRule(temperature).choose(values, np.array([u, 0.5]))
            assert probabilities[chosen] > 0.0 and sample_softmax(values, temperature, u) == chosen
    assert ChoiceRule(1e-300).probabilities(VALUES).tolist() == [0.0, 1.0, 0.0, 0.0]


@given(
    st.lists(st.floats(-5, 5), min_size=1, max_size=7),
    st.floats(1e-3, 1e3),
    st.floats(0, 1, exclude_max=True),
)
def test_inversion_compiled_and_plain(values, temperature, u):
    values = np.array(values)
    plain = sample_index(ChoiceRule(temperature).weights(values, values.max()), u)
    assert sample_softmax(values, temperature, u) == plain
    cumulative = np.cumsum(softmax(values / temperature))
    assert cumulative[plain] >= u - 1e-12 and (plain == 0 or cumulative[plain - 1] <= u + 1e-12)


def test_inversion_follows_the_order_of_actions_and_skips_probability_zero():
    weights = np.array([0.0, 1.0, 0.0, 3.0, 0.0])
    last = np.nextafter(1.0, 0.0)
    assert [sample_index(weights, u) for u in (0.0, 0.24, 0.25, 0.9, last)] == [1, 1, 3, 3, 3]
    cold = np.array([-1e9, 0.0, -1e9, np.log(3.0), -1e9])
    assert [sample_softmax(cold, 1.0, u) for u in (0.0, 0.24, 0.26, 0.9, last)] == [1, 1, 3, 3, 3]


@pytest.mark.parametrize(
    ("name", "parameters", "full_name"),
    [
        ("PIG(VI)", {"temperature": 0.1, "lapse": 0.02}, "PIG(VI, temperature=0.1, lapse=0.02)"),
        ("PIG(VI+)", {"lapse": 0.02, "steps_back": 3}, "PIG(VI+, steps_back=3, lapse=0.02)"),
        ("PEIG(Q)", {"temperature": 2, "untried": 0.0}, "PEIG(Q, untried=0.0, temperature=2.0)"),
        ("LTA", {"temperature": 1e-05}, "LTA(temperature=1e-05)"),
        ("CB", {"lapse": 1.0}, "CB(lapse=1.0)"),
        ("Unembodied", {"temperature": 0.5}, "Unembodied(temperature=0.5)"),
    ],
)
def test_temperature_and_lapse_are_part_of_the_name(name, parameters, full_name):
    strategy = get_strategy(name, **parameters)
    assert strategy.name == full_name and get_strategy(full_name) == strategy
    for key in ("temperature", "lapse"):
        assert getattr(strategy, key) == parameters.get(key, 0.0)


def test_epsilon_stays_on_top_of_a_temperature():
    strategy = get_strategy("PIG(Q)", epsilon=0.5, temperature=1.0, lapse=0.2)
    assert strategy.rule == ChoiceRule(1.0, pytest.approx(0.6))  # neither: 0.5 * 0.8
    assert get_strategy("PIG(Q)").rule == ChoiceRule(0.0, 0.2)  # to the last bit


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: get_strategy("PIG(VI)", temperature=-1), ("temperature", "-1.0", "[0, 1e+12]")),
        (lambda: get_strategy("PIG(VI)", temperature=float("nan")), ("temperature", "nan")),
        (lambda: get_strategy("PIG(VI)", temperature="hot"), ("temperature", "'hot'")),
        (lambda: get_strategy("PIG(VI)", lapse=1.1), ("lapse", "1.1", "[0, 1]")),
        (lambda: get_strategy("Random", temperature=1.0), ("Random", "'temperature'")),
        (lambda: get_strategy("Random", lapse=1.0), ("Random", "'lapse'")),
        (
            lambda: Strategy("mine", UniformChoice(), lapse=0.5),
            ("mine", "temperature", "lapse"),
        ),
        (
            lambda: Strategy("mine", lambda view, s, u: 0, temperature=0.5),
            ("mine", "values(view, s)", "docs/how-to/own-method.md"),
        ),
        (
            lambda: get_strategy("PIG(VI)", ties="first", lapse=0.5),
            ("PIG(VI, ties=first, lapse=0.5)", "ties=", "'first'", "ties=", "'uniform'"),
        ),
    ],
)
def test_meaningless_combinations_are_refused(make, message):
    with raises(ValueError, *message):
        make()


@pytest.mark.parametrize("name", ["PIG(VI)", "PIG(Q)", "CB", "Unembodied"])
def test_explorer_files_store_them_only_if_set(name, tmp_path):
    prior = Dirichlet(1.0, n_states=4, n_actions=3)
    for strategy in (STRATEGIES[name], get_strategy(name, temperature=0.3, lapse=0.1)):
        explorer = Explorer(prior, strategy, seed=3)
        explorer.observe(0, 1, 2)
        explorer.save(tmp_path / "explorer.npz")
        loaded = Explorer.load(tmp_path / "explorer.npz")
        assert loaded.strategy == strategy
        draw = (lambda e: e.choose_pair()) if strategy.relocates else (lambda e: e.act(2))
        for step in [(0, 0, 1), (1, 2, 3)]:
            assert draw(loaded) == draw(explorer)
            loaded.observe(*step)
            explorer.observe(*step)
        with zipfile.ZipFile(tmp_path / "explorer.npz") as archive, archive.open("settings.npy") as file:
            content = json.loads(str(np.lib.format.read_array(file)))["strategy"]["said"]
        usual = {"name", "utility", "untried", "ties"}
        assert set(content) == (usual if strategy is STRATEGIES[name] else usual | {"temperature", "lapse"})


def test_experiments_and_toml_take_them(tmp_path):
    text = (
        'worlds = "maze"\nstrategies = ["PIG(VI)", "PIG(VI, temperature=0.5, lapse=0.1)"]\nn_worlds = 1\nn_steps = 60\n'
    )
    (tmp_path / "study.toml").write_text(text)
    study = Experiment.from_toml(tmp_path / "study.toml")
    warm = get_strategy("PIG(VI)", temperature=0.5, lapse=0.1)
    assert study.strategy(warm.name) == warm
    same = Experiment("maze", ["PIG(VI)", warm], n_worlds=1, n_steps=60)
    assert study.describe() == same.describe()
    study.run(tmp_path / "results.zarr")
    results = same.run(tmp_path / "results.zarr")  # nothing is left to do
    assert results.is_complete and results.strategies == ["PIG(VI)", warm.name]
    usual, heated = results.areas("maze").transpose("strategy", ...).values
    assert np.all(np.isfinite(heated)) and not np.array_equal(usual, heated)


def test_settings_distinguish_custom_strategies_and_do_not_change_built_in_ones():
    def described(**parameters):
        mine = Strategy("mine", ValueIteration(), "PIG", **parameters)
        return Experiment("maze", [mine], n_worlds=1).describe()["own strategies"]["mine"]

    assert described() == "ValueIteration(steps_back=10, gamma=1.0), utility=PIG, untried=None, ties=uniform"
    assert described(temperature=0.5) == described() + ", temperature=0.5"
    assert described(lapse=0.5) == described() + ", lapse=0.5"
    q = Experiment("maze", ["PIG(Q)"], n_worlds=1).describe()["own strategies"]["PIG(Q)"]
    assert q == f"{QLearning()!r}, utility=PIG, untried=None, ties=uniform"


def test_temperature_and_lapse_change_the_actions():
    usual, warm, lapsing = (
        explore(maze(0), get_strategy("PIG(VI)", **more), n_steps=300).actions.tolist()
        for more in ({}, {"temperature": 0.5}, {"lapse": 0.3})
    )
    assert usual != warm and usual != lapsing and warm != lapsing
    assert explore(maze(0), get_strategy("PIG(VI)", temperature=0.0, lapse=0.0), n_steps=300).actions.tolist() == usual


@pytest.mark.parametrize("rule", [ChoiceRule(), ChoiceRule(0.5), ChoiceRule(0.5, lapse=0.1), ChoiceRule(first=True)])
def test_no_action_is_chosen_where_none_is_possible(rule):
    values = np.array([[-np.inf, -np.inf], [-np.inf, 0.3]])
    assert rule.probabilities(values).tolist() == [[0.0, 0.0], [0.0, 1.0]]
