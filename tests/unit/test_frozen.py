"""Objects that caches and compiled records depend on are immutable; the error shows how to create another one."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest

import berlyne
from berlyne import (
    STRATEGIES,
    ChineseRestaurant,
    Dirichlet,
    Explorer,
    InternalModel,
    OneTwoThree,
    Refit,
    SharedDirichlet,
    Strategy,
    World,
    dense_world,
    explore,
    maze,
    one_two_three_world,
)
from berlyne.priors.closed_forms import table_over_counts
from berlyne.strategies.coordination import METHODS_BY_NAME
from berlyne.tasks import Tasks
from messages import raises

PRIORS = {
    "full": (Dirichlet(1.0, n_states=3, n_actions=2), {"alpha": 5.0, "support": None, "n_states": 4, "n_actions": 1}),
    "maze": (maze(0, side=3, n_transporters=2).prior, {"alpha": 5.0}),
    "1-2-3": (OneTwoThree(6), {"p_escape": 0.5, "formula": "printed", "n_states": 7, "n_actions": 2, "support": None}),
    "restaurant": (ChineseRestaurant(2.0, 0.1), {"c": 5.0, "d": 0.5, "n_states": 3, "n_actions": 2, "support": None}),
    "sized": (ChineseRestaurant(2.0, n_states=4, n_actions=2), {"c": 0.5, "schedule": Refit(), "grows": True}),
    "learning": (ChineseRestaurant("ml"), {"c": 3.0, "schedule": None}),
    "shared": (SharedDirichlet(np.eye(3, dtype=int)[None], 0.5), {"alpha": 5.0, "weights": None, "labels": None}),
}
every_prior = pytest.mark.parametrize("name", PRIORS)


@every_prior
def test_no_attribute_of_a_prior_can_be_assigned_or_deleted(name):
    prior, values = PRIORS[name]
    before = repr(prior), prior.describe().parameters
    for attribute, value in {**values, "typo": 1}.items():
        with raises(AttributeError, attribute, type(prior).__name__, "changed"):
            setattr(prior, attribute, value)
        if attribute in vars(prior):
            with raises(AttributeError, attribute, type(prior).__name__, "deleted"):
                delattr(prior, attribute)
    assert (repr(prior), prior.describe().parameters) == before


def test_the_message_names_replace():
    prior = dense_world(0).prior
    with pytest.raises(AttributeError) as error:
        prior.alpha = 5
    way = "dataclasses.replace(it, alpha=...)"
    assert str(error.value) == f"alpha of Dirichlet cannot be changed; create a new one with {way}"
    assert eval(way.replace("...", "5"), {"dataclasses": dataclasses, "it": prior}).alpha == 5.0


@every_prior
def test_another_prior_is_the_same_but_for_what_was_replaced(name):
    prior, _ = PRIORS[name]
    changes = {"Dirichlet": {"alpha": 0.5}, "OneTwoThree": {"p_escape": 0.5}, "ChineseRestaurant": {"d": 0.25}}
    changes["SharedDirichlet"] = {"strength": 2.0}
    (changed, value), *_ = changes[type(prior).__name__].items()
    other = dataclasses.replace(prior, **{changed: value})
    description, now = prior.describe(), other.describe()
    assert type(other) is type(prior) and now.parameters == {**description.parameters, changed: value}
    assert (other.n_states, other.n_actions) == (prior.n_states, prior.n_actions)
    assert all(np.array_equal(description.arrays[part], now.arrays[part]) for part in description.arrays)


def test_replacing_is_refused_where_making_is():
    with raises(ValueError, "alpha", "-1"):
        dataclasses.replace(Dirichlet(1.0, n_states=3, n_actions=2), alpha=-1)
    with raises(ValueError, "c", "'ml'"):
        dataclasses.replace(ChineseRestaurant("ml"), n_states=4)


def test_an_adaptive_prior_stays_adaptive_after_replace():
    """Its c is no number until an explorer has found one, so that another prior of it learns as well."""
    learning = dataclasses.replace(ChineseRestaurant("ml", n_actions=2), d=0.5)
    assert learning.schedule is not None and learning.c == "ml" and learning.d == 0.5
    counts = InternalModel(learning.sized(3, 2)).sparse_counts
    fitted = learning.refit(counts)
    assert fitted is not learning and fitted.schedule is not None and fitted.c == "ml" and fitted.learned == 1.0
    sized = fitted.sized(3, 2)
    assert sized.schedule is None and sized.c == 1.0
    learning = dataclasses.replace(Dirichlet("ml", n_states=4, n_actions=2, start=3.0), n_states=4)
    assert learning.schedule == Dirichlet("ml", n_states=4, n_actions=2).schedule and learning.alpha == 3.0


def test_a_run_with_a_replaced_prior_is_that_of_a_fresh_one():
    """The old numbers: 81.7 bits where a fresh prior gave 113.5."""
    world = dense_world(0)
    explore(world, "PIG(VI)", n_steps=50, seed=0)
    replaced = explore(world.with_prior(dataclasses.replace(world.prior, alpha=5.0)), "PIG(VI)", n_steps=50, seed=0)
    fresh = explore(world.with_prior(Dirichlet(5.0, n_states=10, n_actions=4)), "PIG(VI)", n_steps=50, seed=0)
    assert np.array_equal(replaced.missing_information, fresh.missing_information)
    left = replaced.model.missing_information(replaced.world)
    assert replaced.missing_information[-1] == pytest.approx(left, rel=1e-12)


class Mine(Dirichlet):
    """A user's own, which sets attributes before and after those of ours."""

    def __init__(self, alpha, n):
        self.n_calls = 0
        super().__init__(alpha, n_states=n, n_actions=1)
        self.doubled = 2 * self.alpha

    def estimate(self, counts):
        self.n_calls += 1
        return super().estimate(counts)


@dataclasses.dataclass(init=False, eq=False)
class Fields(Dirichlet):
    """A user's own with a field more."""

    more: int

    def __init__(self, alpha, more):
        self.more = more
        super().__init__(alpha, n_states=2, n_actions=1)


class Whole(OneTwoThree):
    """A user's own that does not ask ours to set anything."""

    def __init__(self):
        self.n_states, self.n_actions, self.p_escape, self.formula = 4, 1, 0.5, "exact"


def test_a_class_of_a_users_own_has_attributes_of_its_own():
    prior = Mine(1.0, 3)
    run = explore(World(np.full((1, 3, 3), 1 / 3), prior), "PIG(greedy)", n_steps=5)
    assert prior.n_calls > 0 and prior.doubled == 2.0 and run.n_steps == 5
    prior.n_calls = 0
    with raises(AttributeError, "alpha", "Mine", "changed"):
        prior.alpha = 2.0
    with raises(AttributeError, "more", "Fields", "changed"):
        Fields(1.0, more=3).more = 4
    assert Whole().estimate(np.zeros((1, 4, 4), dtype=int))[0, 0, 0] == 0.5


def arrays_of(thing, seen=None):
    """Every array that can be reached from an object of ours."""
    seen = {} if seen is None else seen
    if id(thing) in seen:
        return
    seen[id(thing)] = thing
    if isinstance(thing, np.ndarray):
        yield thing
    elif isinstance(thing, tuple | list):
        for part in thing:
            yield from arrays_of(part, seen)
    elif isinstance(thing, dict):
        yield from arrays_of(list(thing.values()), seen)
    elif type(thing).__module__.startswith("berlyne"):
        yield from arrays_of(vars(thing), seen)


def used(world, n_steps=30):
    """Return the objects that a run creates."""
    run = explore(world, "PIG(VI)", n_steps=n_steps, seed=0, snapshots=[n_steps // 2])
    return run, run.counts, run.episode, run.model.sparse_counts, run.model.expected_missing_information().bits, world


WORLDS = {
    "dense": lambda: dense_world(0),
    "maze": lambda: maze(0),
    "1-2-3": lambda: one_two_three_world(0),
    "episodes": lambda: dense_world(0).replace(terminal=[3], start={0: 0.5, 1: 0.5}),
    "given": lambda: World(dense_world(0).rows, Dirichlet(1.0, dense_world(1).rows.support)),
}


@pytest.mark.parametrize("kind", WORLDS)
@pytest.mark.parametrize("way", [lambda x: x, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_arrays_that_others_are_made_from_are_read_only(kind, way):
    world = way(WORLDS[kind]())
    explore(world, "PIG(VI)", n_steps=10)
    assert len(arrays := list(arrays_of([world.rows, world.prior.support, world.episodes, world.geometry]))) >= 3
    assert not any(array.flags.writeable for array in arrays)
    with raises(ValueError, "read-only"):
        world.rows.data[0] = 0.5


@pytest.mark.parametrize("kind", WORLDS)
def test_nothing_that_a_run_leaves_behind_can_be_written_to(kind):
    run, counts, episode, sparse, _, world = used(WORLDS[kind]())
    parts = [run.states, run.actions, run.next_states, run.missing_information, run.l1_distance, run.snapshots]
    for part in arrays_of([*parts, counts, sparse, episode.base, world.rows, world.prior]):
        assert not part.flags.writeable


def test_tables_that_priors_share_are_read_only():
    prior = OneTwoThree(6)
    for array in (
        prior.table("PIG"),
        prior.table("parameter_gain"),
        table_over_counts(1.0, "PIG"),
        prior.support.sizes,
    ):
        with raises(ValueError, "read-only"):
            array[0] = 1.0


def test_arrays_that_are_handed_over_are_not_written_to_behind_a_worlds_back():
    """An array of its own becomes read-only; a view of another is copied."""
    rows = dense_world(0).rows
    data, indices = rows.data.copy(), np.stack([rows.indices, rows.indices])
    world = World(dataclasses.replace(rows, data=data, indices=indices[0]))
    with raises(ValueError, "read-only"):
        data[0] = 0.5
    indices[0, 0] = 7
    assert world.rows.indices[0] == rows.indices[0]


def test_components_of_explorers_models_and_tasks_are_read_only():
    prior = Dirichlet(1.0, n_states=3, n_actions=2)
    explorer, model, world = Explorer(prior, "PIG(VI)"), InternalModel(prior), dense_world(0)
    for thing, name in [(explorer, "prior"), (explorer, "strategy"), (model, "prior"), (model, "n_states")]:
        with raises(AttributeError, name, type(thing).__name__):
            setattr(thing, name, None)
    tasks = Tasks(world, rewards := np.eye(10))
    for name in ("world", "rewards", "cap", "horizon"):
        with raises(AttributeError, name, "Tasks"):
            setattr(tasks, name, 3)
    best = tasks.best_totals.copy()
    rewards[:] = 0.0  # our own array, of which the tasks have a copy
    assert np.array_equal(Tasks(world, np.eye(10)).best_totals, best) and tasks.rewards[0, 0] == 1.0


FIXED = [
    (lambda: dense_world(0), "prior"),
    (lambda: dense_world(0).episodes, "terminal"),
    (lambda: dense_world(0).episodes, "start"),
    (lambda: dense_world(0).state_labels, "all"),
    (lambda: dense_world(0).action_labels, "size"),
    (lambda: dense_world(0).rows, "data"),
    (lambda: dense_world(0).prior.support, "n_states"),
    (lambda: maze(0, side=3, n_transporters=2).geometry, "base"),
    (lambda: STRATEGIES["PIG(VI)"], "temperature"),
    *((lambda method=method: method(), "short") for method in METHODS_BY_NAME.values()),
    (lambda: explore(dense_world(0), "LTA", n_steps=3), "states"),
    (lambda: explore(dense_world(0), "LTA", n_steps=3), "learned"),
    (lambda: Dirichlet("ml", n_states=4, n_actions=2), "schedule"),
    (lambda: Refit(), "always"),
    (lambda: berlyne.Experiment(worlds="dense", n_worlds=1, strategies=["LTA"]), "seed"),
]


@pytest.mark.parametrize(("make", "name"), FIXED)
def test_everything_cached_by_identity_is_frozen(make, name):
    thing = make()
    with pytest.raises(AttributeError):
        setattr(thing, name, None)


def test_a_strategy_with_another_parameter_is_another_strategy():
    assert isinstance(dataclasses.replace(STRATEGIES["PIG(VI)"], temperature=0.5), Strategy)


def test_the_trace_of_a_learned_parameter_is_read_only():
    prior = Dirichlet("ml", n_states=10, n_actions=4)
    run = explore(dense_world(0).with_prior(prior), "LTA", n_steps=20)
    with raises(ValueError, "read-only"):
        run.learned[-1] = 3.0
