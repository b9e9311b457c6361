"""Common mistakes of new users give clear errors."""

import sys

import numpy as np
import pandas
import pytest
from click.testing import CliRunner

import berlyne
from berlyne import ChineseRestaurant, Dirichlet, Explorer, InternalModel, LabBook, Strategy, World
from berlyne.cli import commands
from berlyne.strategies.coordination import Greedy
from berlyne.worlds.structure import controllability, stationary_distribution, structure_index
from messages import raises


def command(*arguments):
    return CliRunner().invoke(commands, arguments)


def test_without_observations_of_unknown_states_knows_enough_is_false():
    explorer = Explorer(ChineseRestaurant(1.0), n_actions=4)
    assert not explorer.knows_enough(8.0, confidence=0.9)
    for _ in range(200):
        for a in range(4):
            explorer.observe("here", a, "here")
    assert explorer.knows_enough(8.0, confidence=0.9)


def test_labels_in_another_order_are_compared_by_label():
    """By hand: what was seen from a to b is row a, column b of the world, wherever the model keeps it."""
    theta = np.array([[[0.5, 0.25, 0.25], [0.1, 0.2, 0.7], [0.3, 0.3, 0.4]]])
    world = World(theta, Dirichlet(1.0, n_states=3, n_actions=1), states=["a", "b", "c"])
    model = InternalModel(world.prior, states=["c", "b", "a"])
    model.observe_many([("a", 0, "b"), ("b", 0, "c")])
    theta_hat = np.array([[1, 2, 1], [1, 1, 2], [4 / 3, 4 / 3, 4 / 3]]) / 4
    bits = np.sum(theta[0] * np.log2(theta[0] / theta_hat), axis=1)
    np.testing.assert_allclose(model.missing_information_by_row(world), [bits])
    assert model.missing_information(world) == pytest.approx(bits.sum())
    assert model.l1_distance(world) == pytest.approx(np.abs(theta[0] - theta_hat).sum())
    with raises(ValueError, "world", "'c'", "model"):
        InternalModel(world.prior, states=["a", "b", "d"]).missing_information(world)


def test_no_state_is_called_elsewhere():
    explorer = Explorer(ChineseRestaurant(1.0), n_actions=2)
    with raises(ValueError, "s_next", "'elsewhere'", "undiscovered"):
        explorer.observe("here", 0, "elsewhere")
    assert explorer.model.n_obs == 0


@pytest.mark.parametrize("wrong", [["x"], float("nan"), "elsewhere"], ids=str)
def test_a_line_that_is_refused_discovers_nothing(wrong, tmp_path):
    explorer = Explorer(ChineseRestaurant(1.0), n_actions=2)
    with raises(ValueError, "s_next", repr(wrong)):
        explorer.observe("here", 0, wrong)
    assert explorer.n_states == 0
    explorer.observe("there", 0, "far")
    explorer.save(tmp_path / "explorer.npz")
    assert list(Explorer.load(tmp_path / "explorer.npz").states) == ["there", "far"]


def test_a_world_in_place_of_a_prior_is_refused():
    with raises(ValueError, "world", "world.prior"):
        Explorer(berlyne.maze(0))


class Own:
    """A prior that is forgotten to be made."""

    def __init__(self, alpha):
        self.alpha = alpha

    def estimate(self, counts):
        return (counts + self.alpha) / (counts + self.alpha).sum(axis=-1, keepdims=True)


@pytest.mark.parametrize(
    "call",
    [
        lambda kind: Explorer(kind, n_actions=2, **({} if kind is ChineseRestaurant else {"n_states": 3})),
        lambda kind: InternalModel(kind, n_states=3, n_actions=2),
        lambda kind: World(np.full((1, 3, 3), 1 / 3), kind),
        lambda kind: berlyne.replay(kind, [(0, 0, 1)]),
    ],
)
@pytest.mark.parametrize("kind", [Own, Dirichlet, ChineseRestaurant])
def test_a_class_in_place_of_a_prior_is_refused(call, kind):
    name = kind.__name__
    with raises(ValueError, "prior", name, f"{name}(...)"):
        call(kind)


def test_a_lab_book_is_not_created_with_a_class(tmp_path):
    for kind in (Own, Dirichlet, ChineseRestaurant):
        with raises(ValueError, "prior", kind.__name__):
            LabBook.new(tmp_path / "x.lab", kind, n_actions=2)
    assert not (tmp_path / "x.lab").exists()


def test_arrays_are_not_printed_whole():
    theta = np.full((2, 40, 40), 1 / 40)
    for wrong in (theta, theta.tolist()):
        with raises(ValueError, "World", "berlyne.maze()") as error:
            berlyne.explore(wrong, "PIG(VI)", 10)
        assert len(str(error.value)) < 200 and "\n" not in str(error.value)
        for call in (Explorer, InternalModel, lambda prior: World(theta, prior)):
            with raises(ValueError, "method", "estimate(counts)") as error:
                call(wrong)
            assert len(str(error.value)) < 200 and "\n" not in str(error.value)
    with raises(ValueError, "world", "(2, 40, 40)"):
        berlyne.explore(theta, "PIG(VI)", 10)


@pytest.mark.parametrize(
    "call",
    [
        lambda wrong: berlyne.explore(wrong, "PIG(VI)", 10),
        berlyne.is_ergodic,
        berlyne.tasks.Tasks,
        stationary_distribution,
        structure_index,
        controllability,
    ],
)
@pytest.mark.parametrize("wrong", ["maze", None, Dirichlet(1.0, n_states=3, n_actions=2)])
def test_invalid_worlds_are_refused(call, wrong):
    with raises(ValueError, "World", "berlyne.maze()") as error:
        call(wrong)
    assert str(error.value).startswith(f"world is {wrong!r}")


def test_a_missing_folder_is_named(tmp_path):
    world = berlyne.maze(0)
    for thing in (world, Explorer(world.prior)):
        with raises(FileNotFoundError, "x.npz", "away", "create"):
            thing.save(tmp_path / "away" / "x.npz")


@pytest.mark.parametrize("prior", [ChineseRestaurant(1.0), Dirichlet(1.0, n_states=2, n_actions=2)])
def test_invalid_histories_are_refused(prior):
    explorer = Explorer(prior, n_actions=2)
    with raises(ValueError, "history", "3", "(s, a, s_next)", "Run"):
        explorer.observe_many(3)
    with raises(ValueError, "among", "1", "[1]"):
        explorer.act(0, among=1)
    assert explorer.n_obs == 0


def test_an_invalid_line_is_reported_by_number():
    labelled = InternalModel(Dirichlet(1.0, n_states=2, n_actions=2), states=["l", "r"])
    for thing in (labelled, Explorer(ChineseRestaurant(1.0), n_actions=2)):
        with raises(ValueError, "line 1", "('l', 0)"):
            thing.observe_many([("l", 0, "r"), ("l", 0)])
        assert thing.n_obs == 0


def test_concentrations_of_a_restaurant_are_positive():
    with raises(ValueError, "[1e-140, 1e+12]"):
        ChineseRestaurant(-1)


def test_labels_in_a_history_of_numbers_give_a_hint():
    prior = Dirichlet(1.0, n_states=2, n_actions=1)
    with raises(ValueError, "0", "1", "states=", "actions="):
        berlyne.replay(prior, [("left", 0, "right")])
    assert len(berlyne.replay(prior, [("left", 0, "right")], states=["left", "right"]).step) == 1


def test_a_lab_book_may_discover_its_states(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert command("lab", "new", "a.lab", "--discover", "--actions", "l,r").exit_code == 0
    assert command("lab", "tell", "a.lab", "nest", "l", "food").exit_code == 0
    assert command("lab", "ask", "a.lab", "food").output.strip() in ("l", "r")
    assert list(LabBook("a.lab").explorer.states) == ["nest", "food"]
    unsaid = command("lab", "new", "b.lab", "--actions", "l,r")
    assert unsaid.exit_code == 1 and "--discover --actions l,r" in str(unsaid.exception)
    twice = command("lab", "new", "b.lab", "--discover", "--prior", "x:y")
    assert twice.exit_code == 1 and "--discover and --prior cannot be combined; leave one of them out" in str(
        twice.exception
    )
    numbered = command("lab", "new", "b.lab", "--discover", "--states", "3", "--actions", "2")
    assert numbered.exit_code == 1 and "must be names, not a number" in str(numbered.exception)
    assert not (tmp_path / "b.lab").exists()


def test_a_class_in_place_of_an_object_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    errors = command("lab", "new", "a.lab", "--actions", "l,r", "--prior", "berlyne:ChineseRestaurant")
    assert errors.exit_code == 1
    assert "'berlyne:ChineseRestaurant' is a class; create an object of it" in str(errors.exception)


@pytest.mark.parametrize("prior", [ChineseRestaurant(1.0), Dirichlet(1.0, n_states=2, n_actions=2)])
def test_a_string_is_one_label_not_its_letters(prior):
    actions = ["g", "o"]
    labels = {} if isinstance(prior, ChineseRestaurant) else {"states": ["a", "b"]}
    explorer = Explorer(prior, n_actions=2, actions=actions, **labels)
    explorer.observe("a", "g", "b")
    for call in (explorer.ends_in, lambda one: explorer.act("a", among=one)):
        with raises(ValueError, "'ab'", "['ab']"):
            call("ab")
    assert list(explorer.states) == ["a", "b"] and not explorer._terminal


def test_known_states_are_passed_as_a_list():
    for call in (
        lambda: Explorer(ChineseRestaurant(1.0), n_actions=2, states="hall"),
        lambda: Explorer(ChineseRestaurant(1.0), n_actions=2).discover("hall"),
        lambda: berlyne.replay(ChineseRestaurant(1.0), [(0, 0, 1)], n_actions=2, states="hall"),
        lambda: berlyne.explore_env("FrozenLake-v1", n_steps=2, states="hall"),
    ):
        with raises(ValueError, "states", "'hall'", "['hall']"):
            call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: berlyne.explore_env("FrozenLake-v1", n_steps=2, states=6),
            ("states", "6"),
        ),
        (
            lambda: berlyne.explore(berlyne.maze(0), "Random", snapshots=5),
            ("snapshots", "5"),
        ),
        (
            lambda: World(np.eye(2)[None], states=["x", "y"], start={"x": "half"}),
            ("start", "'half'", "[0, 1]"),
        ),
        (lambda: World(np.eye(2)[None], Dirichlet), ("prior", "class Dirichlet", "Dirichlet(")),
        (
            lambda: berlyne.explore_env("FrozenLake-v1", n_steps=2, observe=lambda s: divmod(s, 4)),
            ("before step 0", "(0, 0)", "states=", "observe="),
        ),
    ],
)
def test_errors_suggest_the_intended_call(call, message):
    with raises(ValueError, *message):
        call()


TOLD = pandas.DataFrame({"s": [0, 1], "a": [0, 1], "s_next": [1, 2]})
THREE = Dirichlet(1.0, n_states=3, n_actions=2)


@pytest.mark.parametrize(
    ("history", "message"),
    [
        (TOLD.assign(subject=pandas.array(["p", None], dtype="string")), ("subject", "line 1")),
        (TOLD.assign(episode=pandas.array([1, None], dtype="Int64")), ("episode", "line 1")),
        (TOLD.assign(ended=pandas.array([True, None], dtype="boolean")), ("ended", "<NA>", "line 1")),
        (TOLD.assign(subject=[["p"], ["q"]]), ("subject", "['p']", "line 0")),
        (
            pandas.concat([TOLD.assign(subject="p"), TOLD[["s"]].rename(columns={"s": "subject"})], axis=1),
            ("history", "2", "subject"),
        ),
        (TOLD.to_dict("records"), ("line 0", "{'s': 0")),
    ],
)
def test_frames_with_missing_or_ambiguous_columns_are_refused(history, message):
    with raises(ValueError, *message):
        berlyne.replay(THREE, history, "Random")


def test_nullable_frames_are_frames():
    frame = TOLD.assign(subject=["p", "q"], ended=[False, True]).convert_dtypes()
    plain = berlyne.replay(THREE, TOLD.assign(subject=["p", "q"], ended=[False, True]))
    assert berlyne.replay(THREE, frame).log_likelihood.equals(plain.log_likelihood)


def test_labels_may_be_arrays_and_sizes_must_be_those_of_the_world():
    world = World(np.full((2, 3, 3), 1 / 3), THREE)
    labelled = berlyne.replay(world, TOLD + 1, "Random", states=np.array([1, 2, 3]), actions=np.array([1, 2]))
    assert labelled.s.values.tolist() == [1, 2]
    with raises(ValueError, "n_states", "7", "3", "n_states"):
        berlyne.replay(world, TOLD, "Random", n_states=7)
    assert len(berlyne.replay(world, TOLD, "Random", n_states=3).step) == 2


def test_one_temperature_has_one_name():
    names = {berlyne.strategy("PIG(VI)", temperature=t).name for t in (1, 1.0, np.int64(1), np.float64(1.0))}
    assert names == {"PIG(VI, temperature=1.0)"} == {berlyne.strategy("PIG(VI, temperature = 1 )").name}
    assert berlyne.strategy("PIG(VI)", steps_back=3).name == "PIG(VI, steps_back=3)"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: berlyne.strategy("PIG(VI)", temperature=True), ("temperature", "True")),
        (lambda: berlyne.strategy("PIG(VI)", temperature="0.1"), ("temperature", "'0.1'")),
        (
            lambda: berlyne.strategy("PIG(VI, lapse=0.1, lapse=0.2)"),
            ("'PIG(VI, ", "lapse", "more than once"),
        ),
        (lambda: Strategy("u", Greedy(), 3), ("utility", "3")),
    ],
)
def test_parameters_of_a_strategy_are_numbers_given_once(call, message):
    with raises(ValueError, *message):
        call()


def test_a_custom_prior_without_distributions_is_always_detected():
    class Counting:
        n_states, n_actions = 3, 2

        def estimate(self, counts):
            return counts + 1.0 if counts.any() else np.full(counts.shape, 1 / 3)

    named = "(a=0, s=0)", "Counting.estimate", "smallest number is 1"
    world = World(np.full((2, 3, 3), 1 / 3), Counting())
    for call in (
        lambda: berlyne.explore(world, "PIG(greedy)", n_steps=3),
        lambda: berlyne.replay(Counting(), TOLD, "LTA"),
        lambda: Explorer(Counting(), "LTA").observe(0, 0, 1),
    ):
        with raises(ValueError, *named):
            call()
    model = InternalModel(Counting())
    model.observe(0, 0, 1)
    with raises(ValueError, *named):
        model.theta_hat  # noqa: B018


def test_results_take_strategies_and_list_names(tmp_path):
    results = berlyne.Experiment("dense", ["Random", "LTA"], n_worlds=2, n_steps=5).run(tmp_path / "r.zarr")
    random = berlyne.strategy("Random")
    assert results.run("dense/000", random).n_steps == 5 and len(results.history("dense/000", random)) == 5
    assert results.curves("dense", strategies=[random]).strategy.values.tolist() == ["Random"]
    assert results.ranks("dense", ["LTA"]).shape == (2, 1)
    for call in (
        lambda: results.curves("dense", strategies=["Randm"]),
        lambda: results.ranks("dense", ["Randm"]),
        lambda: results.history("dense/000", "Randm"),
        lambda: results.area_ratios("dense", "Randm"),
        lambda: results.plot(strategies=["Randm"]),
    ):
        with raises(ValueError, "strategy", "'Randm'", "'Random'"):
            call()
    with raises(ValueError, "world", "'0'", "nearest", "'dense/001'"):
        results.history(0, "Random")
    with raises(ValueError, "strategies", "'Random'", "list"):
        results.curves("dense", strategies="Random")


def test_a_utility_gives_one_number_and_a_method_a_whole_one():
    def vectors(theta_hat, theta_hat_after):
        return theta_hat * 2

    with raises(ValueError, "vectors", "array(", "one number"):
        Explorer(THREE, Strategy("mine", Greedy(), vectors))
    for wrong in ("left", 0.5, None):
        explorer = Explorer(THREE, Strategy("mine", lambda view, s, u, a=wrong: a))
        with raises(ValueError, "mine", repr(wrong), "0", "1"):
            explorer.act(0)
    assert Explorer(THREE, Strategy("mine", lambda view, s, u: np.int8(1))).act(0) == 1
