"""Explorers: choices, files, and invalid arguments."""

import contextlib
import json
import os
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from berlyne import (
    STRATEGIES,
    ChineseRestaurant,
    Dirichlet,
    Explorer,
    InternalModel,
    OneTwoThree,
    Strategy,
    explore,
    maze,
    pig,
    serialization,
)
from berlyne.strategies.coordination import Relocating, ValueIteration
from berlyne.strategies.registry import get_strategy
from messages import raises
from parity.cases import AWKWARD, CLASSES, VARIANTS
from unit.archives import rewrite_archive

EMBODIED = [
    strategy for strategy in [*STRATEGIES.values(), *VARIANTS] if not strategy.relocates and not strategy.sees_world
]
PRIORS = {**CLASSES, **{kind: AWKWARD[kind] for kind in ("5 actions", "sparse truth", "40 states, 5 actions")}}


def steps(run):
    return zip(run.states[:-1].tolist(), run.actions.tolist(), run.next_states.tolist(), strict=True)


@pytest.mark.pairwise
@pytest.mark.parametrize("strategy", EMBODIED, ids=str)
@pytest.mark.parametrize("kind", PRIORS)
def test_it_repeats_an_exploration_given_its_seed_and_states(kind, strategy):
    world = PRIORS[kind](2)
    run = explore(world, strategy, n_steps=120, seed=8)
    explorer = Explorer(world.prior, strategy, seed=8)
    for s, a, s_next in steps(run):
        assert explorer.act(s) == a
        explorer.observe(s, a, s_next)
    assert explorer.n_obs == 120
    assert np.array_equal(explorer.model.counts, run.model.counts)
    assert np.array_equal(explorer.model.last_outcomes, run.model.last_outcomes)


@pytest.mark.parametrize("kind", PRIORS)
def test_unembodied_chooses_pairs(kind):
    world = PRIORS[kind](2)
    run = explore(world, "Unembodied", n_steps=120, seed=8)
    explorer = Explorer(world.prior, "Unembodied", seed=8)
    for s, a, s_next in steps(run):
        assert explorer.choose_pair() == (s, a)
        explorer.observe(s, a, s_next)


def test_utility_returns_the_values_behind_a_choice():
    world = maze(0)
    explorer = Explorer(world.prior, "PIG(VI)")
    explorer.observe(3, 1, int(world.prior.support.row(1, 3)[0]))
    assert explorer.utility() == pytest.approx(pig(explorer.model), abs=1e-12)
    assert explorer.utility().shape == (4, 36)
    explorer.utility()[:] = 9.0  # a copy
    assert explorer.utility().max() < 9.0
    assert not Explorer(world.prior, "LTA").utility().any()


def test_it_can_observe_transitions_of_other_agents():
    prior = Dirichlet(1.0, n_states=4, n_actions=2)
    explorer, model = Explorer(prior, "PIG(greedy)"), InternalModel(prior)
    for step in [(0, 0, 1), (3, 1, 2), (3, 1, 2), (1, 0, 0), (2, 1, 3)]:
        explorer.observe(*step)
        model.observe(*step)
    assert np.array_equal(explorer.model.counts, model.counts)
    assert explorer.utility() == pytest.approx(pig(model), abs=1e-12)
    assert {explorer.act(3) for _ in range(20)} == {0}


def test_the_model_it_hands_out_is_a_copy():
    explorer = Explorer(Dirichlet(1.0, n_states=3, n_actions=1))
    explorer.model.observe(0, 0, 1)
    assert explorer.n_obs == 0 and explorer.model.n_obs == 0


def test_a_custom_prior_needs_sizes():
    class Even:
        def estimate(self, counts):
            return np.full(counts.shape, 1.0 / counts.shape[-1])

    explorer = Explorer(Even(), "LTA", n_states=3, n_actions=2)
    explorer.observe(0, explorer.act(0), 2)
    assert explorer.n_obs == 1 and (explorer.n_states, explorer.n_actions) == (3, 2)
    with raises(ValueError, "states", "n_states="):
        Explorer(Even(), "LTA")


def test_repr():
    assert repr(Explorer(maze(0).prior)) == "Explorer(PIG(VI), 36 states, 4 actions, 0 observations)"


@pytest.fixture
def explorer():
    return Explorer(maze(0).prior, "PIG(VI)", seed=0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e: e.act(36), ("s", "36", "0", "35")),
        (lambda e: e.act(-1), ("s", "-1", "0")),
        (lambda e: e.act(1.0), ("s", "1.0", "0")),
        (lambda e: e.observe(36, 0, 0), ("s", "36", "0", "35")),
        (lambda e: e.observe(0, 4, 0), ("a", "4", "0", "3")),
        (lambda e: e.observe(0, 0, 40), ("s_next", "40", "0", "35")),
        (
            lambda e: e.observe(0, 0, 35),
            ("action 0", "state 0", "state 35", "docs/how-to/own-prior.md"),
        ),
        (lambda e: e.choose_pair(), ("PIG(VI)", "act(s)")),
    ],
)
def test_bad_input_is_refused_and_changes_nothing(explorer, call, message):
    with raises(ValueError, *message):
        call(explorer)
    fresh = Explorer(maze(0).prior, "PIG(VI)", seed=0)
    assert explorer.n_obs == 0 and explorer.model.n_obs == 0
    assert np.array_equal(explorer.utility(), fresh.utility())
    assert [explorer.act(5) for _ in range(9)] == [fresh.act(5) for _ in range(9)]


def test_impossible_observations_are_refused_under_every_prior():
    """A second target of a 1-2-3 action that has one; anything outside a support; and in plain NumPy too."""
    for strategy_ in ("PIG(VI)", Strategy("mine", lambda view, s, u: 0)):
        explorer = Explorer(OneTwoThree(20), strategy_)
        explorer.observe(4, 0, 7)
        explorer.observe(4, 0, 7)
        for s_next in (0, 8):
            with raises(ValueError, "action 0", "state 4", f"state {s_next}"):
                explorer.observe(4, 0, s_next)
        assert explorer.n_obs == 2
        diagonal = Explorer(Dirichlet(1.0, np.eye(3)[None]), strategy_)
        with raises(ValueError, "action 0", "state 1", "state 2", "prior", "docs/how-to/own-prior.md"):
            diagonal.observe(1, 0, 2)


def test_strategies_with_privileges_are_refused():
    with raises(ValueError, "PIG(VI+)", "unknown"):
        Explorer(maze(0).prior, "PIG(VI+)")
    with raises(ValueError, "Unembodied", "choose_pair()"):
        Explorer(maze(0).prior, "Unembodied").act(0)
    with raises(ValueError, "strategy", "'PIG(IV)'"):
        Explorer(maze(0).prior, "PIG(IV)")


# --- saving -----------------------------------------------------------------------------------------------------------

SAVED = [*EMBODIED, STRATEGIES["Unembodied"], Strategy("mine", ValueIteration(3, 0.5), "PLC")]


def go_on(explorer, run, since, until):
    """Continue along a run; returns the explorer's own choices and its utilities at the end."""
    chosen = []
    for s, a, s_next in list(steps(run))[since:until]:
        chosen.append(explorer.choose_pair() if explorer.strategy.relocates else explorer.act(s))
        explorer.observe(s, a, s_next)
    return chosen, explorer.utility()


@pytest.mark.pairwise
@pytest.mark.parametrize("strategy", SAVED, ids=str)
@pytest.mark.parametrize("kind", PRIORS)
def test_a_loaded_explorer_continues_as_the_saved_one(kind, strategy, tmp_path):
    world = PRIORS[kind](3)
    run = explore(world, "Random", n_steps=160, seed=5)  # the other's history, so that choices may differ from it
    whole = Explorer(world.prior, strategy, seed=1)
    go_on(whole, run, 0, 80)
    whole.save(tmp_path / "explorer.npz")
    assert os.listdir(tmp_path) == ["explorer.npz"]
    loaded = Explorer.load(tmp_path / "explorer.npz")
    assert loaded.strategy == strategy and repr(loaded) == repr(whole)
    assert np.array_equal(loaded.utility(), whole.utility())
    (chosen, utility), (expected, expected_utility) = (go_on(e, run, 80, 160) for e in (loaded, whole))
    assert chosen == expected
    assert np.array_equal(utility, expected_utility)
    assert np.array_equal(loaded.model.counts, whole.model.counts)
    assert np.array_equal(loaded.model.last_outcomes, whole.model.last_outcomes)


def test_many_outcomes_of_one_state_are_remembered(tmp_path):
    """More outcomes than an explorer of a large world has room for at first, before and after saving."""
    prior = Dirichlet(0.5, n_states=100, n_actions=2)
    whole, model = Explorer(prior, "PIG(VI)", seed=1), InternalModel(prior)
    outcomes = np.random.default_rng(0).permutation(100).tolist()

    def tell(explorer, outcomes):
        for s_next in outcomes:
            explorer.observe(7, explorer.act(7), s_next)

    assert whole._agent.belief.graph.capacity < 30
    tell(whole, outcomes[:60])
    assert whole._agent.belief.graph.capacity >= 60
    whole.save(tmp_path / "wide.npz")
    loaded = Explorer.load(tmp_path / "wide.npz")
    for explorer in (whole, loaded):
        tell(explorer, outcomes[60:])
    assert np.array_equal(whole.utility(), loaded.utility())
    assert np.array_equal(whole.model.counts, loaded.model.counts)
    model.observe_many([(7, int(a), s) for a, s in zip(*_row(whole), strict=True)])
    assert whole.utility() == pytest.approx(pig(model), abs=1e-12)
    assert [whole.act(s) for s in range(100)] == [loaded.act(s) for s in range(100)]


def _row(explorer):
    a, s, s_next = np.nonzero(explorer.model.counts)
    assert set(s.tolist()) == {7} and explorer.model.counts.max() == 1
    return a.tolist(), s_next.tolist()


def test_the_random_stream_goes_on(tmp_path):
    whole = Explorer(maze(0).prior, "Random", seed=np.random.default_rng(3))
    [whole.act(0) for _ in range(10)]
    whole.save(tmp_path / "explorer.npz")
    loaded = Explorer.load(tmp_path / "explorer.npz")
    assert [loaded.act(0) for _ in range(50)] == [whole.act(0) for _ in range(50)]


def test_saving_replaces_a_file_whole_and_under_any_name(tmp_path):
    path = tmp_path / "no.suffix"
    path.write_text("something older")
    Explorer(maze(0).prior).save(str(path))
    assert os.listdir(tmp_path) == ["no.suffix"]
    assert Explorer.load(path).n_obs == 0


def test_the_file_holds_no_pickle(tmp_path):
    Explorer(maze(0).prior).save(tmp_path / "explorer.npz")
    with np.load(tmp_path / "explorer.npz", allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    settings = json.loads(str(arrays["settings"]))
    assert settings["format"] == 3
    assert all(values.dtype != object for values in arrays.values())


def test_custom_components_cannot_be_saved(tmp_path):
    mine = Strategy("mine", lambda view, s, u: 0)
    with raises(ValueError, "mine", "custom component", "saved", "LabBook"):
        Explorer(maze(0).prior, mine).save(tmp_path / "explorer.npz")
    assert os.listdir(tmp_path) == []


def test_a_strategy_is_saved_by_its_parameters_not_by_its_name(tmp_path):
    misnamed = Strategy("PIG(VI)", ValueIteration(2, 0.5), "PMC")
    Explorer(maze(0).prior, misnamed).save(tmp_path / "explorer.npz")
    assert Explorer.load(tmp_path / "explorer.npz").strategy == misnamed
    relocating = Strategy("go anywhere", Relocating(), "PEIG", untried=0.5)
    Explorer(maze(0).prior, relocating).save(tmp_path / "explorer.npz")
    assert Explorer.load(tmp_path / "explorer.npz").strategy == relocating


# --- files that are not what they should be ---------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "explorer.npz"
    e = Explorer(maze(0).prior, get_strategy("PIG(VI)"), seed=0)
    for s, a, s_next in steps(explore(maze(0), "Random", n_steps=50)):
        e.observe(s, a, s_next)
    e.save(path)
    return path


def test_other_formats_are_refused_by_number(saved):
    rewrite_archive(saved, lambda settings, arrays: settings.update(format=99))
    with raises(ValueError, "explorer.npz", "format 99", "format 3"):
        Explorer.load(saved)


NOT_OURS = "explorer.npz", "not an explorer", "damaged"


@pytest.mark.parametrize(
    "change",
    [
        lambda settings, arrays: settings.pop("format"),
        lambda settings, arrays: settings.pop("prior"),
        lambda settings, arrays: settings.pop("strategy"),
        lambda settings, arrays: settings.pop("rng"),
        lambda settings, arrays: settings["strategy"].update(method="Prayer"),
        lambda settings, arrays: settings["strategy"]["parameters"].update(steps_back=10**15),
        lambda settings, arrays: settings["prior"].update(n_actions=10**12),
        lambda settings, arrays: settings["prior"].update(alpha=float("nan")),
        lambda settings, arrays: settings["prior"].update(alpha=1e-310),
        lambda settings, arrays: arrays.pop("counts"),
        lambda settings, arrays: arrays.pop("last"),
        lambda settings, arrays: arrays.update(counts=arrays["counts"][:-1]),
        lambda settings, arrays: arrays.update(counts=np.repeat(arrays["counts"], 2, axis=0)),
        lambda settings, arrays: arrays.update(counts=arrays["counts"].astype(float)),
        lambda settings, arrays: arrays.update(counts=arrays["counts"] * [1, 1, 0]),
        lambda settings, arrays: arrays.update(counts=arrays["counts"] * [1, 1, -1]),
        lambda settings, arrays: arrays.update(counts=arrays["counts"] * [1, 1, 2**31]),
        lambda settings, arrays: arrays.update(counts=arrays["counts"] + [144, 0, 0]),
        lambda settings, arrays: arrays.update(counts=arrays["counts"] + [0, 36, 0]),
        lambda settings, arrays: arrays.update(counts=arrays["counts"] + [0, 1, 0]),
        lambda settings, arrays: arrays.update(last=arrays["last"][1:]),
        lambda settings, arrays: arrays.update(last=np.concatenate([arrays["last"], arrays["last"][:1]])),
        lambda settings, arrays: arrays.update(last=arrays["last"] + [0, 36]),
        lambda settings, arrays: arrays.update(visits=arrays["visits"][:-1]),
        lambda settings, arrays: arrays.update(visits=-1 - arrays["visits"]),
        lambda settings, arrays: arrays.update(visits=arrays["visits"] * np.nan),
        lambda settings, arrays: arrays.update(here=np.array([36])),
        lambda settings, arrays: arrays.update(
            support_indptr=np.r_[0, 2**62 + 1, -(2**62), arrays["support_indptr"][3:]]
        ),
        lambda settings, arrays: arrays.update(support_indptr=arrays["support_indptr"].astype("u8")[::-1]),
        lambda settings, arrays: arrays.update(support_indices=arrays["support_indices"][:-1]),
        lambda settings, arrays: arrays.update(support_indices=arrays["support_indices"] + 30),
    ],
)
def test_incomplete_files_are_refused(saved, change):
    rewrite_archive(saved, change)
    with raises(ValueError, *NOT_OURS):
        Explorer.load(saved)


def test_priors_of_another_kind_are_refused(tmp_path):
    Explorer(OneTwoThree(20)).save(tmp_path / "explorer.npz")
    rewrite_archive(tmp_path / "explorer.npz", lambda settings, arrays: settings["prior"].update(kind="Gamma"))
    with raises(ValueError, *NOT_OURS):
        Explorer.load(tmp_path / "explorer.npz")


def test_counts_that_are_impossible_under_the_prior_are_refused(tmp_path):
    path = tmp_path / "explorer.npz"
    e = Explorer(OneTwoThree(20), seed=1)
    e.observe(3, 0, 5)
    e.save(path)
    rewrite_archive(path, lambda settings, arrays: arrays.update(counts=np.array([[9, 5, 1], [9, 6, 1]])))
    with raises(ValueError, *NOT_OURS):
        Explorer.load(path)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_a_table_of_q_that_is_not_finite_is_refused(tmp_path, wrong):
    path = tmp_path / "explorer.npz"
    Explorer(maze(0).prior, "PIG(Q)").save(path)
    rewrite_archive(path, lambda settings, arrays: arrays["q"].__setitem__((3, 2), wrong))
    with raises(ValueError, *NOT_OURS):
        Explorer.load(path)


def test_a_file_that_unpacks_to_gigabytes_is_refused_before_it_does(tmp_path, monkeypatch):
    path = tmp_path / "explorer.npz"
    Explorer(maze(0).prior).save(path)
    rewrite_archive(path, lambda settings, arrays: arrays.update(more=np.zeros(1 << 20, dtype=np.uint8)))
    assert Explorer.load(path).n_obs == 0  # what is not asked for is not looked at
    monkeypatch.setattr(serialization, "MAX_ARCHIVE_BYTES", 1 << 20)
    with raises(ValueError, *NOT_OURS) as caught:
        Explorer.load(path)
    assert "unpacks to" in str(caught.value.__cause__)


def test_a_save_that_fails_leaves_the_old_file_and_nothing_else(saved, monkeypatch):
    whole = saved.read_bytes()

    def full(*arguments, **arrays):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    with raises(OSError, "explorer.npz", "no space", "not changed"):
        Explorer(maze(0).prior).save(saved)
    assert saved.read_bytes() == whole and os.listdir(saved.parent) == [saved.name]


def test_a_saved_explorer_continues_bit_for_bit(tmp_path):
    """Estimates and utilities are computed again and are equal."""
    for prior, name in [
        (maze(0).prior, "PIG(VI)"),
        (Dirichlet(0.3, n_states=50, n_actions=3), "PEIG(VI)"),
        (OneTwoThree(20), "PEIG(VI)"),
        (OneTwoThree(20), "PIG(VI)"),
        (Dirichlet(0.7, n_states=6, n_actions=5), "PLC(Q)"),
    ]:
        rng, whole, s = np.random.default_rng(4), Explorer(prior, name, seed=2), 0
        for _ in range(120):
            a = whole.act(s)
            s_next = int(rng.choice(np.flatnonzero(whole.model.theta_hat_row(a, s) > 0)))
            whole.observe(s, a, s_next)
            s = s_next
        whole.save(tmp_path / "explorer.npz")
        loaded = Explorer.load(tmp_path / "explorer.npz")
        for field in ("weight", "base_weight", "n", "row_stats", "utility"):
            mine, theirs = (getattr(e._agent.belief, field) for e in (loaded, whole))
            if loaded._agent.belief.graph.capacity == whole._agent.belief.graph.capacity:
                assert np.array_equal(mine, theirs), (name, field)
        assert np.array_equal(loaded.utility(), whole.utility()) and loaded.n_obs == 120


def test_threads_that_share_an_explorer_lose_nothing():
    prior = Dirichlet(1.0, n_states=200, n_actions=2)  # has to make room for outcomes
    e, n = Explorer(prior, "PIG(greedy)", seed=0), 4

    def work(k):
        rng = np.random.default_rng(k)
        for s, s_next in rng.integers(200, size=(1500, 2)).tolist():
            e.observe(s, e.act(s), s_next)

    with ThreadPoolExecutor(n) as pool:
        list(pool.map(work, range(n)))
    pairs = np.concatenate([np.random.default_rng(k).integers(200, size=(1500, 2)) for k in range(n)])
    assert e.n_obs == len(pairs)
    assert np.array_equal(e.model.counts.sum(axis=0).ravel(), np.bincount(pairs @ [200, 1], minlength=40_000))


def test_more_observations_than_can_be_counted_are_refused():
    e = Explorer(maze(0).prior)
    e.n_obs = 2**31 - 1
    with raises(ValueError, "at most", "2,147,483,647"):
        e.observe(0, 0, 0)


def test_cut_off_files_are_refused(saved):
    whole = saved.read_bytes()
    for length in (0, 1, 10, len(whole) // 2, len(whole) - 1):
        saved.write_bytes(whole[:length])
        with raises(ValueError, *NOT_OURS):
            Explorer.load(saved)


def test_files_with_a_flipped_byte_are_refused_or_harmless(saved):
    """Names and dates inside the archive have no checksum; everything that matters has."""
    whole, expected = saved.read_bytes(), Explorer.load(saved).utility()
    for position in range(0, len(whole), max(len(whole) // 150, 1)):
        saved.write_bytes(whole[:position] + bytes([whole[position] ^ 0x55]) + whole[position + 1 :])
        with contextlib.suppress(ValueError):  # and no other error
            assert np.array_equal(Explorer.load(saved).utility(), expected)


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "explorer.npz"
    for write in (
        lambda: path.write_text("hello"),
        lambda: (np.save(tmp_path / "array.npy", np.arange(3)), os.replace(tmp_path / "array.npy", path)),
        lambda: np.savez(path, a=np.arange(3)),
        lambda: np.savez(path, settings=np.array("[1, 2]")),
        lambda: np.savez(path, settings=np.array(["not", "json"])),
        lambda: zipfile.ZipFile(path, "w").close(),
    ):
        write()
        with raises(ValueError, *NOT_OURS):
            Explorer.load(path)


def test_a_file_that_is_not_there_is_pythons_own_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        Explorer.load(tmp_path / "nowhere.npz")


@pytest.mark.parametrize("prior", [Dirichlet(1.0, n_states=3, n_actions=2), ChineseRestaurant(1.0, n_actions=2)])
@pytest.mark.parametrize("wrong", [1, 0, 1.0, None, "no", float("nan"), np.array([True, False])], ids=str)
def test_an_invalid_end_is_refused_before_anything_is_learned(prior, wrong):
    explorer = Explorer(prior)
    explorer.observe(0, 0, 1)
    n_states = explorer.n_states
    with raises(ValueError, "ended", "True", "False"):
        explorer.observe(0, 1, 2, ended=wrong)
    assert explorer.n_obs == 1 and len(explorer.history) == 1 and explorer.model.n_obs == 1
    assert explorer.n_states == n_states


def test_an_end_may_be_a_bool_of_numpy(tmp_path):
    one, other = (Explorer(Dirichlet(1.0, n_states=3, n_actions=2)) for _ in range(2))
    for explorer, ended in ((one, np.True_), (other, True)):
        explorer.observe(0, 0, 1, ended=np.False_)
        explorer.observe(0, 1, 2, ended=ended)
        explorer.save(tmp_path / f"{ended!r}.npz")
    assert np.array_equal(one.utility(), other.utility()) and not one.utility()[:, 2].any()
    one.undo()
    assert np.array_equal(one.history, [[0, 0, 1]]) and one.utility()[:, 2].any()
