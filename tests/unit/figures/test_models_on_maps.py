"""Models on maps of worlds: states are matched by label, and undiscovered states share the value of elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

import berlyne
from berlyne import ChineseRestaurant, Dirichlet, Explorer, InternalModel, World, explore, maze
from berlyne.figures.state_quantities import NAMES, explorer_quantity
from berlyne.models.internal_model import match_states
from berlyne.worlds import places
from messages import raises

THETA = np.array(
    [
        [[0.0, 1.0, 0.0], [0.5, 0.0, 0.5], [0.2, 0.3, 0.5]],
        [[0.7, 0.1, 0.2], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]],
    ]
)
SEEN = [("a", "go", "b"), ("a", "go", "b"), ("b", "wait", "c"), ("c", "go", "a"), ("c", "go", "c")]
STATES, ACTIONS = [1, 2, 0], [1, 0]
"""Another order: the new number k stands for the old number of entry k."""


@pytest.fixture(scope="module")
def discovered():
    return explore(maze(0, side=3, n_transporters=5).with_prior(ChineseRestaurant()), "Random", n_steps=40, seed=1)


def model(states="abc", actions=("go", "wait")):
    internal_model = InternalModel(Dirichlet(1.0, n_states=3, n_actions=2), states=list(states), actions=list(actions))
    internal_model.observe_many(SEEN)
    return internal_model


def world(**more):
    return World(THETA, **{"states": list("abc"), "actions": ["go", "wait"], **more})


def turned():
    """Return the world with its states and actions in another order."""
    theta = THETA[np.ix_(ACTIONS, STATES, STATES)]
    return World(theta, states=["abc"[s] for s in STATES], actions=[("go", "wait")[a] for a in ACTIONS])


def coloured(ax):
    (collection,) = [artist for artist in ax.get_children() if artist.get_gid() == "states"]
    return np.ma.filled(collection.get_array(), np.nan)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (maze(0), ("world", "36", "3")),
        (World(np.full((3, 3, 3), 1 / 3)), ("world", "3", "2")),
        (
            world(states=list("abd")),
            ("world", "'d'", "model"),
        ),
        (
            world(actions=["go", "stop"]),
            ("world", "'stop'", "model"),
        ),
        ("maze", ("world", "'maze'", "World", "berlyne.maze()")),
    ],
)
@pytest.mark.parametrize("quantity", ["PIG", "visits", "missing information", np.zeros(3)])
def test_a_world_of_other_states_or_actions_is_refused(other, message, quantity):
    with raises(ValueError, *message):
        model().plot(quantity, world=other)
    with raises(ValueError, *message):
        Explorer(Dirichlet(1.0, n_states=3, n_actions=2), states=list("abc"), actions=["go", "wait"]).plot(
            quantity, world=other
        )


def test_a_smaller_model_without_labels_is_not_taken_for_the_first_rooms():
    smaller = Dirichlet(1.0, n_states=8, n_actions=4)
    for drawn in (InternalModel(smaller), Explorer(smaller)):
        for quantity in ("PIG", "visits", np.zeros(8)):
            with raises(ValueError, "world", "36", "8"):
                drawn.plot(quantity, world=maze(0))


def test_labels_in_another_order_have_their_own_colours():
    ours = model()
    pig = berlyne.pig(ours)
    ax = ours.plot("PIG", world=turned())
    np.testing.assert_array_equal(coloured(ax), pig[np.ix_(ACTIONS, STATES)].T.ravel())
    np.testing.assert_array_equal(coloured(ours.plot("visits", world=turned())), [1.0, 2.0, 2.0])
    np.testing.assert_array_equal(coloured(ours.plot(np.array([5.0, 6.0, 7.0]), world=turned())), [6.0, 7.0, 5.0])
    counts = np.zeros((2, 3, 3))
    for s, a, z in SEEN:
        counts[["go", "wait"].index(a), "abc".index(s), "abc".index(z)] += 1
    theta_hat, possible = (counts + 1) / (counts + 1).sum(axis=2, keepdims=True), THETA > 0
    bits = np.zeros(THETA.shape)
    bits[possible] = THETA[possible] * np.log2(THETA[possible] / theta_hat[possible])
    np.testing.assert_allclose(ours.missing_information_by_row(turned()), bits.sum(axis=2)[np.ix_(ACTIONS, STATES)])
    assert ours.missing_information(world()) == pytest.approx(ours.missing_information_by_row(turned()).sum())


def test_an_explorer_stands_where_its_label_is():
    explorer = Explorer(Dirichlet(1.0, n_states=3, n_actions=2), states=list("abc"), actions=["go", "wait"])
    explorer.observe("a", "go", "c")
    ax = explorer.plot(world=turned())
    (agent,) = [artist for artist in ax.get_children() if artist.get_gid() == "agent"]
    np.testing.assert_array_equal(np.ravel(agent.get_data()), places(turned())[1])


def test_numbers_stand_for_labels_in_their_order():
    plain = InternalModel(Dirichlet(1.0, n_states=3, n_actions=2))
    plain.observe(2, 0, 1)
    np.testing.assert_array_equal(coloured(plain.plot("visits", world=world())), [0.0, 0.0, 1.0])
    np.testing.assert_array_equal(coloured(model().plot("visits", world=World(THETA))), [2.0, 1.0, 2.0])


@pytest.mark.parametrize("t", [0, 3, 40])
def test_missing_information_is_measured_where_states_are_discovered(discovered, t):
    ours, truth = discovered.model_at(t), discovered.world
    assert ours.missing_information_by_row(truth).sum() == pytest.approx(discovered.missing_information[t], rel=1e-12)
    met = list(dict.fromkeys([*discovered.states[: t + 1].tolist()]))
    theta_hat, hidden = ours.theta_hat, [s for s in range(9) if s not in met]
    cell = {s: met.index(s) if s in met else len(met) for s in range(9)}
    for a in range(4):
        for s in range(9):
            bits = 0.0
            for z in np.flatnonzero(truth.theta[a, s]).tolist():
                share = theta_hat[a, cell[s], cell[z]] / (len(hidden) if z in hidden else 1)
                bits += truth.theta[a, s, z] * np.log2(truth.theta[a, s, z] / share)
            assert ours.missing_information_by_row(truth)[a, s] == pytest.approx(bits, rel=1e-10)
    ax = discovered.plot_path(t, what="missing information")
    assert coloured(ax).sum() == pytest.approx(discovered.missing_information[t], rel=1e-12)


def test_a_world_without_a_state_that_was_discovered_is_refused():
    explorer = Explorer(ChineseRestaurant(), n_actions=2, actions=["go", "wait"])
    explorer.observe("a", "go", "z")
    with raises(ValueError, "model", "'z'", "world"):
        explorer.plot(world=world())
    fewer = Explorer(ChineseRestaurant(), n_actions=2, actions=["go", "wait"])
    fewer.observe("c", "go", "b")
    assert match_states(world(), fewer.model).tolist() == [2, 1, 0]
    fewer.observe("c", "go", "a")  # as many cells as the world has states, and one more
    assert match_states(world(), fewer.model).tolist() == [2, 1, 0]


def with_an_end(strategy="PIG(greedy)", prior=None):
    """An explorer that was led along 0, 1, 2, where the episode was over."""
    explorer = Explorer(ChineseRestaurant() if prior is None else prior, strategy, n_actions=2)
    explorer.observe(0, 0, 1)
    explorer.observe(1, 0, 2, ended=True)
    return explorer


@pytest.mark.parametrize("strategy", ["PIG(greedy)", "PMC(VI)", "Random", "Unembodied"])
def test_an_explorer_of_unknown_states_is_coloured_by_its_own_utility(strategy):
    explorer = with_an_end(strategy)
    values = coloured(explorer.plot()).reshape(4, 2).T  # three states and elsewhere
    own = explorer.utility()[:, :3]
    own[np.isneginf(own)] = np.nan  # where Unembodied cannot go
    np.testing.assert_array_equal(values[:, :3], own)
    assert np.isnan(values[:, 3]).all()
    largest = coloured(explorer.plot(rows=False))
    np.testing.assert_array_equal(largest[:3], own.max(axis=0))
    assert np.isnan(largest[3])


@pytest.mark.parametrize("quantity", [name for name in NAMES if name != "missing information"])
def test_elsewhere_has_no_value_and_no_influence_on_the_scale(quantity):
    explorer = with_an_end()
    for drawn in (explorer, explorer.model):
        ax = drawn.plot(quantity, rows=False)
        (collection,) = [artist for artist in ax.get_children() if artist.get_gid() == "states"]
        values = coloured(ax)
        assert np.isnan(values[3]) and np.isfinite(values[:2]).all()
        is_flat = not np.nanmax(values) and not np.nanmin(values)
        assert collection.get_clim()[1] == (1.0 if is_flat else np.nanmax(values))


def test_custom_values_may_include_elsewhere():
    own = np.array([1.0, 2.0, 3.0, 4.0])
    np.testing.assert_array_equal(coloured(with_an_end().plot(own)), own)


def test_elsewhere_is_the_only_cell_before_any_discovery():
    explorer = Explorer(ChineseRestaurant(), n_actions=2)
    np.testing.assert_array_equal(coloured(explorer.plot()), explorer.utility().T.ravel())
    np.testing.assert_array_equal(coloured(explorer.model.plot("PIG")), berlyne.pig(explorer.model).T.ravel())


@pytest.mark.parametrize("prior", [ChineseRestaurant(), Dirichlet(1.0, n_states=4, n_actions=2)])
@pytest.mark.parametrize("quantity", ["PIG", "PMC", "parameter_gain"])
def test_no_utility_has_a_value_in_known_terminal_states(prior, quantity):
    explorer = with_an_end(prior=prior)
    values = coloured(explorer.plot(quantity, rows=False))
    assert np.isnan(values[2]) and np.isfinite(values[:2]).all()
    explorer.observe(2, 0, 0)  # an action can be taken there after all
    assert np.isfinite(coloured(explorer.plot(quantity, rows=False))[2])


def test_the_card_of_an_explorer_shows_its_own_utility():
    explorer = with_an_end()
    values = explorer_quantity(explorer, "utility", rows=False).values
    assert values[2] == 0.0 and np.isnan(values[3]) and "<svg" in explorer._repr_html_()
