"""Custom worlds are stored with the results: labels, walls, episodes, and worlds that cannot be stored."""

import shutil

import numpy as np
import pytest

import berlyne
from berlyne import ChineseRestaurant, Dirichlet, Experiment, World, maze, open_results
from berlyne.experiments import merge
from berlyne.experiments.stored_worlds import UnavailablePrior
from berlyne.experiments.worlds import SettingsError, fingerprint
from berlyne.priors.protocols import Description
from berlyne.serialization import StoreError
from berlyne.sparse import Support
from messages import raises
from unit.archives import rewrite_archive
from unit.experiments.studies import assert_same_store, count_explorations, study

STATES, ACTIONS = ["red", "blue", ("green", 2)], ["l", "r"]


def labelled(seed, terminal=()):
    theta = np.random.default_rng(seed).dirichlet(np.ones(3), (2, 3))
    prior = Dirichlet(0.5, n_states=3, n_actions=2)
    ends = [STATES[s] for s in terminal]
    return World(theta, prior, states=STATES, actions=ACTIONS, start="blue", terminal=ends, name=f"world {seed}")


def made(seed):
    return maze(seed, side=2, n_transporters=1)


class Mine:
    n_states, n_actions = 3, 2

    def __repr__(self):
        return "Mine()"

    def estimate(self, counts):
        return (counts + 1) / (counts + 1).sum(axis=-1, keepdims=True)


def make_study(**changes):
    worlds = {
        "task": [labelled(0), labelled(1, [2])],
        "walls": [maze(i, side=3, n_transporters=2) for i in range(2)],
        "made": made,
        "grid": {"kind": "maze", "side": 3, "n_transporters": 2},
        "mine": [labelled(5).with_prior(Mine()), labelled(6).with_prior(Mine())],
        "found": [labelled(7).with_prior(ChineseRestaurant("ml"))] * 2,
    }
    usual = {"worlds": worlds, "strategies": ["Random", "PIG(VI)"], "n_steps": 12, "snapshots": (0.5, 1.0)}
    return Experiment(**{**usual, **changes})


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("own") / "r.zarr"
    visits = berlyne.experiments.measures.visits
    make_study(measures={"visits": (("a", "s"), visits)}).run(place)
    return place


def test_worlds_are_read_without_the_experiment(place):
    results = open_results(place)
    for seed in (0, 1):
        world, stored = labelled(seed, [2] * seed), results.world(f"task/00{seed}")
        assert fingerprint(stored) == fingerprint(world) and repr(stored.prior) == repr(world.prior)
        assert list(stored.states) == STATES and list(stored.actions) == ACTIONS and stored.name == world.name
        assert stored.terminal.tolist() == world.terminal.tolist() and stored.start == 1
        walls = results.world(f"walls/00{seed}").geometry
        assert np.array_equal(walls.passages, maze(seed, side=3, n_transporters=2).geometry.passages)
    world_class = make_study().classes[2]
    assert (
        fingerprint(results.world("made/001"))
        == fingerprint(world_class.world(0, 1))
        != fingerprint(world_class.world(0, 0))
    )
    assert results.world("found/000").prior.grows and list(results.world("found/000").states) == STATES


def test_only_custom_worlds_are_stored(place):
    assert sorted(file.name for file in (place / "world").glob("*.npz")) == sorted(
        f"{kind}.{index}.npz" for kind in (0, 1, 2, 4, 5) for index in (0, 1)
    )
    assert open_results(place).world("grid/001").geometry is not None
    assert all(file.stat().st_size < 8000 for file in (place / "world").glob("*.npz"))


@pytest.mark.parametrize("label", ["task/001", "walls/000", "made/000", "grid/000", "mine/001", "found/001"])
def test_runs_are_put_together_without_the_experiment(place, label, monkeypatch):
    kind, index = label.split("/")
    expected = make_study()
    position = int(index) * 6 + list(expected.worlds).index(kind)
    assert expected.id_at(position) == label
    world = berlyne.experiments.work_unit.world_at(expected, kind, int(index))
    run = berlyne.explore(world, "PIG(VI)", n_steps=12, seed=expected.stream_at(position, "PIG(VI)"))
    ran = count_explorations(monkeypatch)
    stored = open_results(place).run(label, "PIG(VI)")
    assert ran == [] and np.array_equal(stored.episode, run.episode) and stored.history == run.history
    for name in ("states", "actions", "next_states"):
        assert np.array_equal(getattr(stored, name), getattr(run, name))


def test_a_custom_prior_is_reported_as_not_stored(place):
    world = open_results(place).world("mine/001")
    assert isinstance(world.prior, UnavailablePrior) and repr(world.prior) == "UnavailablePrior(Mine())"
    assert list(world.states) == STATES and np.array_equal(world.theta, labelled(6).theta)
    names = ("prior of world mine/001", "Mine()", "open_results(path, experiment)", "world.with_prior(prior)")
    with raises(ValueError, *names):
        berlyne.explore(world, "PIG(VI)", n_steps=3)
    run = open_results(place).run("mine/001", "Random")
    with raises(ValueError, *names):
        run.model.theta_hat  # noqa: B018
    assert berlyne.explore(world.with_prior(Mine()), "PIG(VI)", n_steps=3).n_steps == 3


def test_arrays_over_states_and_actions_have_labels(place):
    task = open_results(place).of("task")
    assert task["a"].values.tolist() == ACTIONS and task["s"].values.tolist() == STATES
    run = open_results(place).run("task/001", "PIG(VI)")
    visits = task["visits"].sel(world="task/001", strategy="PIG(VI)")
    counts = task["counts"].sel(world="task/001", strategy="PIG(VI)", snapshot=1.0)
    assert visits.sizes == {"a": 2, "s": 3} and counts.sizes == {"transition": 18}
    history = [tuple(line) for line in run.history]
    for a in ACTIONS:
        for s in ("red", "blue"):
            taken = sum(line[:2] == (s, a) for line in history)
            assert visits.sel(a=a, s=s).item() == taken
            for s_next in ("red", "blue"):
                here = (
                    (counts["transition_a"] == a)
                    & (counts["transition_s"] == s)
                    & (counts["transition_s_next"] == s_next)
                )
                assert counts.values[here.values].tolist() == [history.count((s, a, s_next))]
    walls = open_results(place).of("walls")
    assert "s" not in walls.coords and walls.sizes["s"] == 9  # numbers are numbers


def test_measures_over_outcomes_end_with_the_last_state_of_their_class(tmp_path):
    """Beside a larger world the array has more room than this class needs."""
    worlds = {"task": labelled(0), "walls": maze(0, side=3, n_transporters=2)}
    measures = {"seen": (("a", "s", "s_next"), lambda run: run.model.counts)}
    results = Experiment(worlds, "Random", n_steps=12, measures=measures).run(tmp_path / "r.zarr")
    assert results.dataset["seen"].sizes["s_next"] == 9
    seen = results.of("task")["seen"]
    assert seen["s_next"].values.tolist() == seen["s"].values.tolist() == STATES
    history = [tuple(line) for line in results.run("task/000", "Random").history]
    for a in ACTIONS:
        for s in ("red", "blue"):
            for s_next in ("red", "blue"):
                assert seen.sel(a=a, s=s, s_next=s_next).item() == history.count((s, a, s_next))


def test_frames_contain_labels(place):
    frame = open_results(place).to_frame(world_class="task")
    run = open_results(place).run("task/000", "PIG(VI)")
    one = frame[(frame["world"] == "task/000") & (frame["strategy"] == "PIG(VI)")]
    lines = one[["state", "action", "next_state"]].to_numpy().tolist()[:-1]
    assert [tuple(line) for line in lines] == [tuple(line) for line in run.history]
    numbers = open_results(place).to_frame(world_class="walls")
    assert str(numbers["state"].dtype) == "Int64"
    counted = open_results(place).to_frame("counts", "task")
    assert {"transition_a", "transition_s", "transition_s_next"} <= set(counted.columns)


def test_worlds_with_different_labels_have_no_common_labels(tmp_path):
    other = labelled(1).replace(states=["x", "y", "z"], start="x", terminal=[])
    results = Experiment([labelled(0), other], "Random", n_steps=5, snapshots=(5,)).run(tmp_path / "r.zarr")
    assert results.labels("world") is None and "transition_s" not in results.of("world").coords
    assert list(open_results(tmp_path / "r.zarr").world("world/001").states) == ["x", "y", "z"]


def test_a_damaged_or_misplaced_world_is_named_and_repaired(place, tmp_path):
    shutil.copytree(place, tmp_path / "r.zarr")
    folder = tmp_path / "r.zarr" / "world"
    sound = (folder / "0.0.npz").read_bytes()
    broken = bytearray(sound)
    broken[len(sound) // 2] ^= 255
    for content in (
        bytes(broken),
        sound[:-40],
        b"",
        (folder / "0.1.npz").read_bytes(),
        (folder / "2.0.npz").read_bytes(),
    ):
        (folder / "0.0.npz").write_bytes(content)
        with raises(StoreError, "world/0.0.npz", "damaged"):
            open_results(tmp_path / "r.zarr").world("task/000")
    (folder / "2.1.npz").write_bytes((folder / "2.0.npz").read_bytes())
    with raises(StoreError, "2.1.npz", "damaged", "another world"):
        open_results(tmp_path / "r.zarr").world("made/001")
    assert open_results(tmp_path / "r.zarr").areas("task").notnull().all()  # results are there all the same
    (folder / "1.1.npz").unlink()
    with raises(ValueError, "walls/001", "not stored", "open_results(path, experiment)"):
        open_results(tmp_path / "r.zarr").world("walls/001")
    visits = berlyne.experiments.measures.visits
    make_study(measures={"visits": (("a", "s"), visits)}).run(tmp_path / "r.zarr")
    assert_same_store(tmp_path / "r.zarr", place)


@pytest.mark.parametrize("label", ["task/000", "made/000"])
def test_a_file_of_other_transitions_under_the_same_id_is_refused(place, tmp_path, label):
    shutil.copytree(place, tmp_path / "r.zarr")
    file = tmp_path / "r.zarr" / "world" / ("0.0.npz" if label == "task/000" else "2.0.npz")

    def change(settings, arrays):
        arrays["data"] = np.concatenate([arrays["data"][:3][::-1], arrays["data"][3:]])
        settings["start"] = 0

    rewrite_archive(file, change)
    with raises(StoreError, "damaged", "another world"):
        open_results(tmp_path / "r.zarr").world(label)


def test_worlds_that_no_file_can_contain_are_left_out(tmp_path, monkeypatch):
    strange = World(
        np.full((1, 2, 2), 0.5), Dirichlet(1.0, n_states=2, n_actions=1), states=[frozenset("a"), frozenset("b")]
    )
    Experiment({"strange": strange}, "Random", n_steps=3).run(tmp_path / "r.zarr")
    monkeypatch.setattr("berlyne.experiments.stored_worlds.MAX_TRANSITIONS", 3)
    Experiment({"large": labelled(0)}, "Random", n_steps=3).run(tmp_path / "l.zarr")
    for file, label in (("r.zarr", "strange/000"), ("l.zarr", "large/000")):
        assert not list((tmp_path / file / "world").glob("*.npz"))
        with raises(ValueError, label, "not stored"):
            open_results(tmp_path / file).world(label)


def test_shards_store_their_worlds_and_merging_joins_them(tmp_path):
    worlds = {"task": [labelled(i) for i in range(4)], "made": made}
    whole = Experiment(worlds, ["Random"], n_steps=5)
    whole.run(tmp_path / "whole")
    for part in ("1/2", "2/2"):
        whole.run(tmp_path / part[0], shard=part)
    assert len(list((tmp_path / "1" / "world").glob("*.npz"))) == 4
    merge(tmp_path / "both", [tmp_path / "1", tmp_path / "2"])
    assert_same_store(tmp_path / "both", tmp_path / "whole")
    assert fingerprint(open_results(tmp_path / "both").world("task/003")) == fingerprint(labelled(3))


def test_a_store_without_worlds_is_completed_when_it_is_resumed(place, tmp_path):
    shutil.copytree(place, tmp_path / "r.zarr")
    for file in (tmp_path / "r.zarr" / "world").glob("*.npz"):
        file.unlink()
    with raises(ValueError, "file was removed"):
        open_results(tmp_path / "r.zarr").world("task/000")
    visits = berlyne.experiments.measures.visits
    make_study(measures={"visits": (("a", "s"), visits)}).run(tmp_path / "r.zarr")
    assert_same_store(tmp_path / "r.zarr", place)


def test_worlds_of_the_papers_classes_take_no_room(tmp_path):
    study().run(tmp_path / "r.zarr")
    assert not list((tmp_path / "r.zarr" / "world").glob("*.npz"))


def ending(**changes):
    """Two classes, in one of which episodes end; blocks of four explorations hold both."""
    usual = {"worlds": {"ends": [labelled(i, [2]) for i in range(6)], "not": [labelled(i) for i in range(6)]}}
    return Experiment(**{**usual, "strategies": ["PIG(VI)"], "n_worlds": 2, "n_steps": 20, **changes})


@pytest.mark.parametrize("array", ["missing", "damaged"])
def test_a_lost_array_of_next_states_is_detected_and_repaired(tmp_path, array):
    ending().run(tmp_path / "sound")
    shutil.copytree(tmp_path / "sound", tmp_path / "r.zarr")
    chunk = next((tmp_path / "r.zarr" / "next_state").glob("c.*"))
    chunk.unlink() if array == "missing" else chunk.write_bytes(chunk.read_bytes()[:-9] + b"123456789")
    for use in (ending().run, lambda place: open_results(place).history("ends/000", "PIG(VI)")):
        with raises(StoreError, "next_state of PIG(VI) in worlds ends/000 to not/001", array):
            use(tmp_path / "r.zarr")
    ending().run(tmp_path / "r.zarr", repair=True)
    assert_same_store(tmp_path / "r.zarr", tmp_path / "sound")


def sometimes(seed):
    """A class of which only some worlds have an end."""
    return labelled(0, [2] if seed.generate_state(1)[0] % 2 else [])


def test_worlds_without_ends_added_to_those_with_them_lose_nothing(tmp_path):
    """They share a chunk; what is written later must not hide what was there."""
    study_of = lambda n: Experiment({"some": sometimes}, ["PIG(VI)"], n_worlds=n, n_steps=15)  # noqa: E731
    ends = [len(study_of(8).classes[0].world(0, i).terminal) for i in range(8)]
    last = max(i for i, n in enumerate(ends) if n)
    assert any(ends) and last < 7, "another seed is needed"
    study_of(last + 1).run(tmp_path / "r.zarr")
    study_of(8).run(tmp_path / "r.zarr")
    study_of(8).run(tmp_path / "whole")
    grown, whole = open_results(tmp_path / "r.zarr"), open_results(tmp_path / "whole")
    for i in range(8):
        assert np.array_equal(grown.history(f"some/00{i}", "PIG(VI)"), whole.history(f"some/00{i}", "PIG(VI)"))


def test_labels_that_no_file_can_contain_are_named_as_a_reason(tmp_path):
    sets = [frozenset({i}) for i in range(3)]
    world = World(labelled(0).rows, labelled(0).prior, states=sets)
    Experiment(worlds={"task": world}, strategies=["Random"], n_steps=5).run(tmp_path / "r.zarr")
    with raises(ValueError, "task/000", "not stored", "too large", "labels that cannot be stored"):
        open_results(tmp_path / "r.zarr").world("task/000")


class Sticky:
    """A prior of a user's own with a parameter, which it does not describe."""

    def __init__(self, weight):
        self.weight = weight

    def estimate(self, counts):
        pseudo = counts + 1.0 + self.weight * np.eye(counts.shape[-1])
        return pseudo / pseudo.sum(axis=-1, keepdims=True)


class Described(Sticky):
    """One that describes itself, and has no support."""

    def describe(self):
        return Description("Described", {}, {"weight": np.array([self.weight])})


class Supported(Described):
    """One that has a support as well."""

    support = Support(1, 3)


@pytest.mark.parametrize("prior", [Sticky, Described, Supported])
def test_a_custom_prior_with_another_parameter_is_another_world(prior, tmp_path):
    """A store gave back old numbers for the new parameter, without a word."""
    theta = np.full((1, 3, 3), 1 / 3)
    studies = [Experiment(World(theta, prior(weight)), "Random", n_runs=2, n_steps=5) for weight in (3.0, 3.0, 300.0)]
    areas = [studies[i].run(tmp_path / "r.zarr").dataset["area"].values for i in (0, 1)]
    np.testing.assert_array_equal(*areas)
    with raises(SettingsError, "r.zarr", "was made with worlds.world.worlds"):
        studies[2].run(tmp_path / "r.zarr")
