"""A stored study contains exactly the results of direct calls of `explore`."""

import numpy as np
import pytest

from amounts import amount
from berlyne import STRATEGIES, Dirichlet, Strategy, World, explore, maze
from berlyne.experiments.spec import snapshot_steps, stream, world_id
from berlyne.strategies.coordination import Greedy
from unit.experiments.studies import small_blocks, study

__all__ = ["small_blocks"]

pytestmark = pytest.mark.usefixtures("small_blocks")


def by_hand(experiment, kind, index, strategy):
    """One exploration of a study, made without its machinery."""
    steps = snapshot_steps(experiment.snapshots, kind.n_steps)
    seed = stream(experiment.seed, f"{world_id(kind.name, index)}/{strategy.name}")
    world = kind.world(experiment.seed, index)
    return explore(world, strategy, n_steps=kind.n_steps, seed=seed, snapshots=steps), steps


def assert_stored(experiment, results):
    dataset = results.dataset.load()
    for kind in experiment.classes:
        for index in range(experiment.n_worlds):
            for strategy in experiment.strategies:
                run, steps = by_hand(experiment, kind, index, strategy)
                saved = dataset.sel(world=world_id(kind.name, index), strategy=strategy.name)
                n = kind.n_steps
                for name in ("missing_information", "l1_distance"):
                    stored = saved[name].values
                    assert stored.dtype == np.float32
                    assert np.array_equal(stored[: n + 1], getattr(run, name).astype(np.float32))
                    assert np.all(np.isnan(stored[n + 1 :]))
                assert saved["area"].values == run.area and saved["area"].dtype == np.float64
                assert np.array_equal(saved["state"].values[: n + 1], run.states)
                assert np.array_equal(saved["action"].values[:n], run.actions)
                history = results.history(world_id(kind.name, index), strategy.name)
                assert np.array_equal(history, np.stack([run.states[:-1], run.actions, run.next_states], axis=1))
                m, n_states = run.world.n_actions, run.world.n_states
                for j, t in enumerate(steps):
                    flat = saved["counts"].values[j]
                    counts = flat[: m * n_states**2].reshape(m, n_states, n_states)
                    assert np.array_equal(counts, run.snapshots[t].dense()) and flat.sum() == t
                    from_path = results.counts(world_id(kind.name, index), strategy.name, t, n_states, m)
                    assert np.array_equal(from_path.dense(), counts)


def test_every_step_of_every_curve_of_the_papers_strategies(tmp_path):
    all_classes = {"dense": {"n_states": 4}, "maze": {"side": 3, "n_transporters": 4}, "1-2-3": {"n_states": 6}}
    experiment = study(
        worlds=all_classes,
        strategies=list(STRATEGIES),
        n_worlds=amount(1, 2),
        n_steps={"dense": 25, "maze": 40, "1-2-3": 30},
    )
    assert_stored(experiment, experiment.run(tmp_path / "r.zarr"))


def even(seed):
    """A function of a seed: each outcome of each action as likely as the next."""
    n = 2 + int(np.random.default_rng(seed).integers(3))
    return World(np.full((2, n, n), 1 / n), Dirichlet(1.0, n_states=n, n_actions=2), start=1, name="even")


def last_of(view, s, u):
    return view.n_actions - 1 if hasattr(view, "n_actions") else 0


def test_custom_worlds_strategies_and_measures(tmp_path):
    """A list of worlds, a function of a seed, a function that acts, a utility; what they are told to measure."""
    experiment = study(
        worlds={"given": [maze(i, side=2, n_transporters=i) for i in range(3)], "drawn": even},
        strategies=[
            "Random",
            Strategy("last", last_of),
            Strategy("mine", Greedy(), lambda now, after: float(now.max())),
        ],
        n_worlds=3,
        n_steps={"given": 15, "drawn": 12},
        measures={"final": lambda run: run.missing_information[-1], "moves": lambda run: np.arange(run.n_steps + 1)},
        snapshots=(0.5, 1.0),
    )
    results = experiment.run(tmp_path / "r.zarr")
    assert_stored(experiment, results)
    final = results.of("drawn")["final"].values
    assert np.array_equal(final.astype(np.float32), results.of("drawn")["missing_information"].values[..., -1])
    assert np.array_equal(results.of("given")["moves"].values, np.tile(np.arange(16.0), (3, 3, 1)))


@pytest.mark.parametrize("seed", [0, 5, 2**40])
def test_seeds_are_part_of_every_stream(tmp_path, seed):
    experiment = study(seed=seed, n_worlds=1)
    assert_stored(experiment, experiment.run(tmp_path / "r.zarr"))
