"""Environments without a transition table in a study: explored by acting, measured by expected missing information."""

import functools

import numpy as np
import pytest

from amounts import amount
from berlyne import Experiment, dense_world, explore, explore_env, from_gymnasium, maze, open_results, replay
from berlyne.experiments import merge
from berlyne.experiments.spec import SettingsError
from berlyne.experiments.worlds import fingerprint, stream
from messages import raises
from unit.experiments.studies import assert_same_store, command, files

gymnasium = pytest.importorskip("gymnasium")

EXPECTED = "expected_missing_information"


class Switches(gymnasium.Env):
    """Three switches; action a turns switch a over, or with some luck all. All on ends the episode."""

    observation_space = gymnasium.spaces.MultiBinary(3)
    action_space = gymnasium.spaces.Discrete(3)

    def __init__(self, luck=0.2):
        self.luck = luck

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.on = np.zeros(3, dtype=np.int8)
        return self.on.copy(), {}

    def step(self, a):
        self.on[self.np_random.random() < self.luck or int(a)] ^= 1
        return self.on.copy(), float(self.on.sum()), bool(self.on.all()), False, {}


class Counted(gymnasium.Env):
    """Four states in a circle, `Discrete` and without a table."""

    observation_space = gymnasium.spaces.Discrete(4)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.s = int(self.np_random.integers(4))
        return self.s, {}

    def step(self, a):
        self.s = (self.s + (1 if a else int(self.np_random.integers(4)))) % 4
        return self.s, 0.0, False, False, {}


def made(seed):
    """Switches that differ in their luck."""
    return Switches(np.random.default_rng(seed).random() / 2)


def total(run):
    return run.rewards.sum()


def make_study(**changes):
    settings = {
        "worlds": {"cards": "Blackjack-v1", "switches": [Switches(), Switches(0.5)], "made": made, "plain": "berlyne"},
        "strategies": ["Random", "PIG(VI)"],
        "n_worlds": 1,
        "n_runs": 4,
        "n_steps": {"cards": 25, "switches": 30, "made": 20, "plain": 15},
        "seed": 3,
        "snapshots": (0.5, 1.0),
    }
    settings["worlds"]["plain"] = dense_world(1)
    return Experiment(**{**settings, **changes})


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("untabled") / "r.zarr"
    make_study().run(place, jobs=1)
    return place


def test_an_exploration_is_that_of_explore_env_with_the_stream_of_its_id(place):
    results = open_results(place)
    for label, env in (
        ("cards/000/run-002", gymnasium.make("Blackjack-v1")),
        ("switches/000/run-002", Switches()),
        ("made/000/run-002", made(stream(3, "made/000"))),
    ):
        n_steps = results.n_steps(label)
        run = explore_env(env, "PIG(VI)", n_steps, seed=stream(3, f"{label}/PIG(VI)"))
        np.testing.assert_array_equal(
            results.history(label, "PIG(VI)"), np.stack([run.states[:-1], run.actions, run.next_states], axis=1)
        )
        stored = results.of(label.split("/")[0]).sel(world=label, strategy="PIG(VI)")
        np.testing.assert_array_equal(stored[EXPECTED].values, run.expected_missing_information)
        assert float(stored["area"]) == run.expected_missing_information.sum() == run.area
        assert stored["missing_information"].isnull().all() and stored["l1_distance"].isnull().all()
        assert stored["counts"].isnull().all()
    assert results.of("plain")["counts"].isel(snapshot=-1).sum("transition").values.tolist() == [[15.0] * 2] * 4


def test_expected_missing_information_of_a_run_agrees_with_replay(place):
    results, world = open_results(place), dense_world(1)
    run = explore(world, "PIG(VI)", n_steps=15, seed=stream(3, "plain/000/PIG(VI)"))
    replayed = replay(world, run, "PIG(VI)")
    stored = results.of("plain").sel(world="plain/000/run-000", strategy="PIG(VI)")[EXPECTED].values
    np.testing.assert_allclose(stored[:-1], replayed.expected_missing_information.values, rtol=1e-12)
    np.testing.assert_allclose(stored[-1], replayed.expected_missing_information_after.values[-1], rtol=1e-12)


def test_other_studies_store_expected_missing_information_only_on_request(tmp_path):
    settings = {"worlds": {"task": maze(0, side=3, n_transporters=2)}, "strategies": ["Random"], "n_steps": 9}
    assert EXPECTED not in Experiment(**settings).run(tmp_path / "usual.zarr").dataset
    results = Experiment(**settings, measures=[EXPECTED, "states_visited"]).run(tmp_path / "asked.zarr")
    assert results.dataset[EXPECTED].notnull().all() and results.dataset[EXPECTED].attrs["units"] == "bits"


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("options", [{"jobs": 1}, {"jobs": 3}])
def test_threads_leave_the_same_store(tmp_path, options):
    make_study(n_runs=2).run(tmp_path / "one.zarr", jobs=1)
    make_study(n_runs=2).run(tmp_path / "other.zarr", **options)
    assert_same_store(tmp_path / "one.zarr", tmp_path / "other.zarr")


def test_processes_shards_and_growth_leave_the_same_store(place, tmp_path):
    pytest.importorskip("distributed")
    make_study().run(tmp_path / "processes.zarr", workers=amount(1, 2))
    assert_same_store(place, tmp_path / "processes.zarr")
    shards = [tmp_path / f"shard-{k}.zarr" for k in (1, 2, 3)]
    for k, shard in enumerate(shards, start=1):
        make_study().run(shard, shard=f"{k}/3")
    merge(tmp_path / "joined.zarr", shards)
    assert_same_store(place, tmp_path / "joined.zarr")
    make_study(n_runs=1, strategies=["Random"]).run(tmp_path / "grown.zarr")
    make_study(n_runs=3).run(tmp_path / "grown.zarr")
    make_study().run(tmp_path / "grown.zarr")
    assert_same_store(place, tmp_path / "grown.zarr")


def test_a_run_that_failed_is_resumed(place, tmp_path, monkeypatch):
    from berlyne.experiments.opaque_env import OpaqueEnv

    explored, done = OpaqueEnv.explore, []

    def fails(self, strategy, n_steps, seed):
        if len(done) == 13:
            raise RuntimeError("no more")
        done.append(strategy.name)
        return explored(self, strategy, n_steps, seed)

    monkeypatch.setattr(OpaqueEnv, "explore", fails)
    monkeypatch.setattr("berlyne.experiments.store.BLOCK", 192)
    with raises(RuntimeError, "no more"):
        make_study().run(tmp_path / "r.zarr", jobs=1)
    assert open_results(tmp_path / "r.zarr").dataset["area"].notnull().any()
    monkeypatch.undo()
    make_study().run(tmp_path / "r.zarr")
    assert_same_store(place, tmp_path / "r.zarr")
    before = files(tmp_path / "r.zarr")
    make_study().run(tmp_path / "r.zarr")
    assert files(tmp_path / "r.zarr") == before


def test_environments_with_a_table_are_worlds(tmp_path):
    lake = gymnasium.make("FrozenLake-v1", is_slippery=False)
    worlds = {
        "named": "FrozenLake-v1",
        "listed": ["FrozenLake-v1", lake],
        "made": lambda seed: gymnasium.make(lake.spec),
    }
    study = Experiment(worlds=worlds, strategies=["PIG(VI+)"], n_steps=30)
    slippery, dry = from_gymnasium("FrozenLake-v1"), from_gymnasium(lake)
    results = study.run(tmp_path / "r.zarr")
    assert [fingerprint(results.world(f"{name}/000")) for name in worlds] == [
        fingerprint(world) for world in (slippery, slippery, dry)
    ]
    assert results.dataset["missing_information"].notnull().all() and EXPECTED not in results.dataset
    (tmp_path / "s.toml").write_text(
        "worlds = {lake = 'FrozenLake-v1'}\nstrategies = ['Random']\nn_steps = 9\nn_runs = 2"
    )
    assert command("run", tmp_path / "s.toml", tmp_path / "toml.zarr", "--quiet")[0] == 0
    assert fingerprint(open_results(tmp_path / "toml.zarr").world("lake/000")) == fingerprint(slippery)


def test_measures_by_name_and_custom_measures(tmp_path):
    measures = {"paid": total, **{name: _measure(name) for name in ("states_visited", "rows_tried")}}
    results = make_study(worlds={"switches": Switches()}, n_steps=30, measures=measures).run(tmp_path / "r.zarr")
    run = explore_env(Switches(), "Random", 30, seed=stream(3, "switches/000/Random"))
    stored = results.dataset.sel(world="switches/000/run-000", strategy="Random")
    assert float(stored["paid"]) == run.rewards.sum()
    assert stored["states_visited"].values.tolist() == [len({*run.states[: t + 1].tolist()}) for t in range(31)]
    pairs = list(zip(run.states[:-1].tolist(), run.actions.tolist(), strict=True))
    assert stored["rows_tried"].values.tolist() == [len(set(pairs[:t])) for t in range(31)]


def _measure(name):
    from berlyne.experiments.measures import OPTIONAL_MEASURES

    return OPTIONAL_MEASURES[name]


def test_visits_are_stored_if_states_are_known(tmp_path):
    study = Experiment(worlds={"ring": Counted()}, strategies=["Random"], n_steps=50, measures=["visits"])
    results = study.run(tmp_path / "r.zarr")
    s, a, _ = results.history("ring/000", "Random").T
    visits = np.zeros((2, 4))
    np.add.at(visits, (a, s), 1)
    np.testing.assert_array_equal(results.dataset["visits"].values[0, 0], visits)


def test_available_results_are_printed_and_drawn(place, tmp_path):
    results = open_results(place, make_study())
    for call in (lambda: results.world("cards/000"), lambda: results.run("cards/000/run-001", "Random")):
        with raises(ValueError, "worlds.cards", place.name, "no transition table", "no World"):
            call()
    frame = results.to_frame(world_class="cards")
    assert len(frame) == 4 * 2 * 26 and frame[EXPECTED].notna().all()
    s, _, s_next = results.history("cards/000/run-001", "Random")[:10].T
    counts = results.counts("cards/000/run-001", "Random", 10, 60, 2)
    assert counts.n.sum() == 10
    with raises(ValueError, "n_states is 2", "Random in cards/000/run-001", f"contains {max(*s, *s_next)}"):
        results.counts("cards/000/run-001", "Random", 10, 2, 2)
    curves = results.curves("cards")["mean"].sel(strategy="Random").values
    np.testing.assert_allclose(curves, results.of("cards")[EXPECTED].sel(strategy="Random").mean("world").values)
    labels = [ax.get_ylabel() for ax in results.plot()]
    assert labels == ["expected missing information (bits)", "", "", "missing information (bits)"]
    assert all(len(ax.lines) == 2 for ax in results.plot())
    assert "smallest area, plain" in results._repr_html_() and "smallest area, cards" not in results._repr_html_()
    code, output, _ = command("show", place)
    lines = [line for line in output.splitlines() if line.startswith("cards") and "Random" in line]
    assert code == 0 and len(lines) == 1 and lines[0].rstrip().endswith("bits expected")
    assert command("plot", place, "-o", tmp_path / "c.png")[0] == 0
    code, _, output = command("plot", place, "--class", "cards", "--measure", "l1_distance", "-o", tmp_path / "no.png")
    assert code == 1 and "contains no data to plot for this choice" in output and not (tmp_path / "no.png").exists()


class Pushed(Switches):
    action_space = gymnasium.spaces.Box(0.0, 1.0)


class Bare:
    """The least that `explore_env` asks for: no class of Gymnasium, no spec, nothing to close."""

    observation_space, action_space = gymnasium.spaces.Discrete(2), gymnasium.spaces.Discrete(2)

    def reset(self, seed=None):
        self.s = 0
        return 0, {}

    def step(self, a):
        self.s ^= int(a)
        return self.s, 0.0, False, False, {}


def test_the_gymnasium_interface_is_sufficient(tmp_path):
    results = Experiment(worlds=Bare(), strategies=["LTA"], n_steps=8).run(tmp_path / "r.zarr")
    s, a, s_next = results.history("Bare/000", "LTA").T
    assert results.classes == ["Bare"] and np.array_equal(s ^ a, s_next)


def mixed(seed):
    return Switches() if np.random.default_rng(seed).random() < 0.5 else dense_world(0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"strategies": ["PIG(VI+)"]},
            "strategies: PIG(VI+) plans with the true world, and worlds.x is an environment",
        ),
        (
            {"strategies": ["Unembodied"]},
            "strategies: Unembodied can move to any state, and worlds.x is an environment",
        ),
        (
            {"measures": ["visits"]},
            "measures.visits: cannot be computed for worlds.x, an environment without a transition table, because its "
            "states are unknown",
        ),
        (
            {"measures": {"m": ("snapshot", len)}, "snapshots": [3]},
            "measures.m: cannot be computed for worlds.x, an environment without a transition table, because no "
            "snapshots are stored for it",
        ),
        ({"worlds": {"x": [Switches(), dense_world(0)]}}, "worlds.x: Switches has no transition table, but others do"),
        ({"measures": {EXPECTED: len}}, "measures.expected_missing_information is always stored for environments"),
        ({"worlds": {"x": "CartPole-v1"}}, "worlds.x: observations are Box"),
        ({"worlds": gymnasium.make("CartPole-v1")}, "worlds: observations are Box"),
        ({"worlds": {"x": Pushed()}}, "worlds.x: actions are Box"),
        ({"worlds": {"x": "Nope-v0"}}, "worlds.x: Gymnasium cannot make 'Nope-v0': Environment `Nope` doesn't exist"),
    ],
)
def test_invalid_settings_are_refused_before_anything_runs(settings, message):
    usual = {"worlds": {"x": Switches()}, "strategies": ["Random"], "n_steps": 9}
    with pytest.raises(SettingsError) as caught:
        Experiment(**{**usual, **settings})
    assert str(caught.value).startswith(message) and "\n" not in str(caught.value)


def test_a_function_gives_worlds_of_one_kind(tmp_path):
    with pytest.raises(SettingsError, match=r"worlds\.x: world 0 has .* transition table, but world \d+ has "):
        Experiment(worlds={"x": mixed}, strategies=["Random"], n_worlds=20, n_steps=5).run(tmp_path / "r.zarr")


class Pose(gymnasium.ObservationWrapper, gymnasium.utils.RecordConstructorArgs):
    """Return the position and direction of the agent of a MiniGrid."""

    def __init__(self, env, turned=False):
        gymnasium.utils.RecordConstructorArgs.__init__(self, turned=turned)
        super().__init__(env)
        self.observation_space = gymnasium.spaces.MultiDiscrete([5, 5, 4])
        self.turned = turned

    def observation(self, seen):
        pose = (*map(int, self.unwrapped.agent_pos), int(self.unwrapped.agent_dir))
        return np.array(pose[::-1] if self.turned else pose)


class Unrecorded(gymnasium.ObservationWrapper):
    """A wrapper that does not say how it was made, so that it can only be copied."""

    def __init__(self, env):
        super().__init__(env)
        self.observation_space = gymnasium.spaces.MultiDiscrete([5, 5, 4])

    observation = functools.partialmethod(Pose.observation)
    turned = False


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")  # of MiniGrid's own
def test_a_level_of_minigrid_is_explored_with_its_wrappers(tmp_path):
    pytest.importorskip("minigrid")
    assert Experiment(worlds={"x": "minigrid:MiniGrid-Empty-5x5-v0"}, strategies=["Random"])  # a dict is a state
    level = gymnasium.make("MiniGrid-Empty-5x5-v0")
    worlds = {"made again": Pose(level), "copied": Unrecorded(level), "turned": Pose(level, turned=True)}
    study = Experiment(
        worlds=worlds,
        strategies=["PIG(VI)"],
        n_steps=400,
        n_runs=2,
        common_random_numbers=True,
        measures=["rows_tried"],
    )
    assert len({*(fingerprint(kind.worlds[0]) for kind in study.classes)}) == 3
    results = study.run(tmp_path / "r.zarr", jobs=2)
    met = results.dataset[["state", "next_state"]].max("time").to_dataframe()
    assert (met[["state", "next_state"]].max(axis=1) == 8 * 4 + 2 - 1).all()  # all poses but some at the goal
    assert (results.dataset["rows_tried"].isel(time=-1) > 32 * 7 * 0.8).all()
    assert results.dataset["area"].notnull().all()


def test_fingerprints_depend_on_the_spec():
    def fingerprint_of(*arguments, **options):
        return fingerprint(
            Experiment({"x": gymnasium.make(*arguments, **options)}, ["Random"], n_steps=5).classes[0].worlds[0]
        )

    assert fingerprint_of("Blackjack-v1") == fingerprint_of("Blackjack-v1")
    others = fingerprint_of("Blackjack-v1", natural=True), fingerprint_of("Blackjack-v1", max_episode_steps=2)
    assert len({fingerprint_of("Blackjack-v1"), *others}) == 3
