"""The work unit: its worlds, the layout of its arrays, and how it is divided."""

import dataclasses
import functools
import threading
from concurrent.futures import CancelledError

import numpy as np
import pytest

from berlyne import Dirichlet, Strategy, World, dense_world, explore, maze
from berlyne.experiments.layout import Layout, smallest_unsigned, standard_arrays
from berlyne.experiments.spec import SettingsError
from berlyne.experiments.work_unit import (
    WorkUnit,
    _WorldCache,
    compute_arrays,
    make_layout,
    split_work_units,
    world_at,
)
from berlyne.experiments.worlds import fingerprint
from messages import raises
from unit.experiments.studies import study

tiny = functools.partial(maze, side=2, n_transporters=1)


def computed(experiment, name, *positions, size=8):
    return compute_arrays(experiment, WorkUnit(0, size, name, positions), make_layout(experiment))


def test_classes_of_the_same_kind_have_worlds_of_their_own():
    """Recent worlds are cached under everything that they depend on."""
    same = {"kind": "maze", "side": 3, "n_transporters": 4}
    twins = study(worlds={"a": same, "b": same}, n_steps=9)
    assert fingerprint(world_at(twins, "a", 0)) == fingerprint(twins.classes[0].world(1, 0))
    assert fingerprint(world_at(twins, "b", 0)) == fingerprint(twins.classes[1].world(1, 0))
    assert fingerprint(world_at(twins, "a", 0)) != fingerprint(world_at(twins, "b", 0))
    assert fingerprint(world_at(twins, "a", 0)) != fingerprint(
        world_at(study(worlds={"a": same}, n_steps=9, seed=2), "a", 0)
    )


def test_functions_of_the_same_name_are_not_mixed_up():
    """Each study below is gone before the next: neither names nor addresses tell functions apart."""
    sizes = []
    for side in (2, 3, 4, 5, 2, 3):
        own = study(worlds={"mine": lambda seed, side=side: maze(seed, side=side, n_transporters=1)}, n_steps=9)
        sizes.append(world_at(own, "mine", 0).n_states)
        del own
    assert sizes == [4, 9, 16, 25, 4, 9]


def test_given_worlds_are_met_as_they_are():
    worlds = [tiny(i) for i in range(4)]
    assert [world_at(study(worlds={"mine": worlds}, n_steps=9), "mine", i) for i in range(4)] == worlds


def test_the_number_of_cached_worlds_is_limited():
    recent = _WorldCache(max_worlds=3)
    kind = study().classes[0]
    first = recent.get(0, kind, 0)
    assert recent.get(0, kind, 0) is first
    for i in range(1, 4):
        recent.get(0, kind, i)
    assert len(recent.cached) == 3 and recent.get(0, kind, 0) is not first
    assert recent.entries == sum(len(world.rows.data) for _, world in recent.cached.values())


def test_large_worlds_are_not_cached_together(monkeypatch):
    recent = _WorldCache()
    kind = study().classes[0]
    monkeypatch.setattr("berlyne.experiments.work_unit.MAX_CACHED_ENTRIES", len(kind.world(0, 0).rows.data) + 1)
    for i in range(3):
        recent.get(0, kind, i)
    assert len(recent.cached) == 1


@pytest.mark.parametrize(
    ("n", "kind"), [(1, "uint8"), (255, "uint8"), (256, "uint16"), (65_535, "uint16"), (65_536, "uint32")]
)
def test_types_have_a_value_for_nothing(n, kind):
    assert smallest_unsigned(n) == kind


def test_lines_that_are_not_asked_for_hold_nothing():
    arrays = computed(study(), "Random", 1, 4, size=6)
    others = [0, 2, 3, 5]
    assert np.all(np.isnan(arrays["area"][others])) and not np.any(np.isnan(arrays["area"][[1, 4]]))
    assert np.all(np.isnan(arrays["missing_information"][others])) and np.all(arrays["state"][others] == 255)
    assert np.all(arrays["action"][others] == 255) and not np.any(arrays["counts"][others])
    assert np.all(arrays["next_state"][others] == 255)
    assert np.array_equal(arrays["next_state"][1, :20], arrays["state"][1, 1:21])  # nothing relocates it


def test_shorter_classes_end_in_nothing():
    arrays = computed(study(), "Random", 0, 1, size=2)  # a maze of 30 steps, a dense world of 20
    assert not np.any(np.isnan(arrays["missing_information"][0]))
    assert np.array_equal(np.isnan(arrays["missing_information"][1]), np.arange(31) > 20)
    assert np.array_equal(arrays["action"][1] == 255, np.arange(31) > 19)


def test_counts_follow_the_order_of_the_snapshots():
    """Snapshots may be named in any order; each line holds what was seen up to its time."""
    arrays = computed(study(snapshots=(0.5, 0, 7, 1.0)), "Random", 0, size=1)
    assert arrays["counts"].sum(axis=-1).tolist() == [[15, 0, 7, 30]]
    twice = computed(study(snapshots=(0.51, 0.5)), "Random", 0, size=1)
    assert twice["counts"].sum(axis=-1).tolist() == [[15, 15]]


def test_worlds_too_large_for_dense_counts_have_none():
    large = study(worlds={"maze": {"side": 12}}, n_steps=20)
    assert make_layout(large).n_transitions == 0
    assert "counts" not in computed(large, "Random", 0)


def test_worlds_of_one_class_may_differ_in_size():
    worlds = [
        maze(0, side=2, n_transporters=1),
        dense_world(0, n_states=20),
        maze(1, side=3, n_transporters=1),
        tiny(3),
    ]
    arrays = computed(study(worlds={"mine": worlds}, n_steps=10, snapshots=(1.0,)), "Random", 0, 1, 2, size=3)
    assert arrays["counts"].shape == (3, 1, 1600) and np.all(arrays["counts"].sum(axis=-1) == 10)


def test_worlds_that_outgrow_the_first_are_refused():
    def growing(seed):
        n = 10 + 290 * (int(np.random.default_rng(seed).integers(2**32)) % 3)
        return World(np.full((1, n, n), 1 / n), Dirichlet(1.0, n_states=n, n_actions=1))

    own = study(worlds={"mine": growing}, n_steps=9, n_worlds=20, snapshots=())
    sizes = [own.classes[0].world(1, i).n_states for i in range(20)]
    layout = Layout(standard_arrays(10, 255, 1, 0, 0, ()))
    first = next(i for i, n in enumerate(sizes) if n > 255)
    with raises(SettingsError, "worlds.mine", f"world {first}", f"{sizes[first]} states", "1 actions", "more"):
        compute_arrays(own, WorkUnit(0, 20, "Random", tuple(range(20))), layout)
    with raises(SettingsError, "maze", "world 0", "more", "store"):
        Layout(standard_arrays(10, 255, 4, 1, 99, ())).check_world(maze(0), "maze", 0)


def test_own_measures_may_be_numbers_or_curves():
    arrays = computed(
        study(measures={"last": lambda run: run.missing_information[-1], "half": lambda run: run.l1_distance / 2}),
        "PIG(VI)", 0, 1, size=3,
    )  # fmt: skip
    assert arrays["last"].shape == (3,) and arrays["half"].shape == (3, 31)
    assert np.isnan(arrays["last"][2]) and np.isnan(arrays["half"][1, 21]) and np.all(np.isnan(arrays["half"][2]))
    assert arrays["last"][0] == pytest.approx(arrays["missing_information"][0, -1], rel=1e-6)
    assert np.allclose(arrays["half"][1, :21], arrays["l1_distance"][1, :21] / 2)


def test_own_measures_may_look_at_snapshots():
    arrays = computed(study(measures={"seen": lambda run: run.snapshots[7].n.sum()}), "Random", 0, size=1)
    assert arrays["seen"] == [7]


@pytest.mark.parametrize(
    ("measure", "names"),
    [
        (
            lambda run: run.actions,
            ("measures.mine", "(30,)", "()", "(31,)", "axes"),
        ),
        (
            lambda run: run.l1_distance if run.n_steps == 30 else 0.0,
            ("measures.mine", "a single number", "one per time"),
        ),
    ],
)
def test_measures_of_the_wrong_shape_are_named(measure, names):
    with raises(ValueError, *names):
        computed(study(measures={"mine": measure}), "Random", 0, 1)


def test_missing_information_that_is_no_number_is_refused(monkeypatch):
    """An area that is not a number would mean that nothing is there, for ever."""
    from berlyne.experiments import work_unit

    def broken(*arguments, **options):
        run = explore(*arguments, **options)
        missing = run.missing_information.copy()
        missing[3] = np.nan
        return dataclasses.replace(run, curves={**run.curves, "missing_information": missing})

    monkeypatch.setattr(work_unit, "explore", broken)
    with raises(ValueError, "Random in Maze", "missing information", "not a number"):
        computed(study(), "Random", 0)


def test_a_cancelled_piece_is_not_computed():
    stop = threading.Event()
    stop.set()
    with pytest.raises(CancelledError):
        compute_arrays(study(), WorkUnit(0, 8, "Random", (0,)), make_layout(study()), stop)


@pytest.mark.parametrize("n_workers", [0, 1, 2, 7, 100])
@pytest.mark.parametrize("sizes", [(), (1,), (10,), (5, 8), (3,) * 20])
def test_few_pieces_are_divided_among_many_workers(sizes, n_workers):
    pieces = [WorkUnit(100 * i, 100, "Random", tuple(range(100 * i, 100 * i + n))) for i, n in enumerate(sizes)]
    parts = split_work_units(pieces, n_workers)
    assert [p for part in parts for p in part.positions] == [p for piece in pieces for p in piece.positions]
    assert all(part.positions and (part.first, part.size) == (part.positions[0] // 100 * 100, 100) for part in parts)
    if n_workers <= 1 or len(pieces) >= 2 * n_workers:
        assert parts == pieces
    assert len(parts) >= min(n_workers, sum(sizes))


def test_own_strategies_are_run_under_their_names():
    always_first = Strategy("first", lambda view, s, u: 0)
    arrays = computed(study(strategies=[always_first]), "first", 0, size=1)
    assert np.all(arrays["action"][0, :30] == 0)
