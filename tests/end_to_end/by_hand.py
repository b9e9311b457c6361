"""Expected results of a reproduction with four worlds, computed again in plain NumPy, SciPy and xarray.

berlyne draws and explores the worlds. The names of the random streams, and everything computed afterwards, are written
independently here.
"""

from __future__ import annotations

import hashlib
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
import xarray as xr

import berlyne

N_WORLDS = 4
CLASSES = ("dense", "maze", "1-2-3")
MAKE = {"dense": berlyne.dense_world, "maze": berlyne.maze, "1-2-3": berlyne.one_two_three_world}
N_STEPS = {"dense": 3000, "maze": 2500, "1-2-3": 1250}
ALPHA = {"dense": 1.0, "maze": 0.25}
SNAPSHOTS = (0.02, 0.05, 0.1, 0.25, 0.5, 1.0)
STRATEGIES = (
    "Random", "Unembodied", "LTA", "CB", "PIG(greedy)", "PIG(VI)", "PIG(VI+)", "PIG(Q)", "PEIG(greedy)", "PEIG(VI)",
    "PEIG(Q)", "PMC(greedy)", "PMC(VI)", "PLC(greedy)", "PLC(VI)",
)  # fmt: skip


def stream(name: str, seed: int = 0) -> np.random.SeedSequence:
    """The stream of an id: the seed, then the digest of the id, as words."""
    words = np.frombuffer(seed.to_bytes(4, "little") + hashlib.sha256(name.encode()).digest(), dtype="<u4")
    return np.random.SeedSequence([int(word) for word in words])


@lru_cache(maxsize=32)
def world(world_class: str, i: int) -> berlyne.World:
    return MAKE[world_class](stream(f"{world_class}/{i:03d}"))


@lru_cache(maxsize=128)
def run(world_class: str, i: int, strategy: str, length: int = 1) -> berlyne.Run:
    """Return an exploration of the study, or one of `length` times as many steps."""
    seed = stream(f"{world_class}/{i:03d}/{strategy}")
    return berlyne.explore(world(world_class, i), strategy, n_steps=length * N_STEPS[world_class], seed=seed)


def counts_after(exploration: berlyne.Run, t: int) -> np.ndarray:
    """Transitions [a, s, s_next] seen in the first t steps."""
    counts = np.zeros_like(exploration.world.theta, dtype=int)
    np.add.at(counts, (exploration.actions[:t], exploration.states[:t], exploration.next_states[:t]), 1)
    return counts


@lru_cache(maxsize=4)
def stored(folder: Path) -> dict[str, xr.Dataset]:
    """The stored explorations of each class, worlds in their order, times as many as there are."""
    dataset = xr.open_zarr(folder / "results.zarr", chunks=None).load()
    dataset = dataset.assign_coords(strategy=[str(name) for name in dataset["strategy"].values])
    labels = [str(label) for label in dataset["world"].values]
    return {
        name: dataset.isel(
            world=[labels.index(f"{name}/{i:03d}") for i in range(N_WORLDS)], time=slice(0, N_STEPS[name] + 1)
        )
        for name in CLASSES
    }


@lru_cache(maxsize=16)
def stage(folder: Path, name: str) -> xr.Dataset:
    """The stored numbers of a stage."""
    dataset = xr.open_zarr(folder / "data" / f"{name}.zarr", chunks=None).load()
    texts = {key: [str(x) for x in c.values] for key, c in dataset.coords.items() if c.dtype.kind not in "fi"}
    return dataset.assign_coords(texts)


def entropy(p: np.ndarray) -> np.ndarray:
    return -np.sum(p * np.log2(np.where(p > 0, p, 1.0)), axis=-1)


def structure_index(theta: np.ndarray) -> float:
    """Reading R22, with the equilibrium as an eigenvector."""
    values, vectors = np.linalg.eig(theta.mean(axis=0).T)
    psi = np.abs(np.real(vectors[:, np.argmin(np.abs(values - 1))]))
    uniform = np.log2(len(psi))
    return float((uniform - entropy(psi / psi.sum())) / uniform)


def controllability(theta: np.ndarray, lag: int) -> float:
    """Reading R23, by powers of the chain."""
    after = theta @ np.linalg.matrix_power(theta.mean(axis=0), lag - 1)
    return float(np.mean(entropy(after.mean(axis=0)) - entropy(after).mean(axis=0)))


def gains(world_class: str, i: int, n_obs: int = 20, n_trials: int = 50) -> np.ndarray:
    """PIG and realised gain [2, row, trial, n_obs] in bits of every observation of every row (a fastest)."""
    theta = world(world_class, i).theta.transpose(1, 0, 2).reshape(-1, MAKE[world_class](0).n_states)
    u = np.random.default_rng(stream(f"{world_class}/{i:03d}/gains")).random((len(theta), n_trials, n_obs))
    observe = _observe_1_2_3 if world_class == "1-2-3" else _observe_dirichlet
    return np.stack(
        [observe(row, u_row, r, world_class) for r, (row, u_row) in enumerate(zip(theta, u, strict=True))], 1
    )


def _outcomes(row: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Return the outcome that each uniform number selects among the possible ones."""
    possible = np.flatnonzero(row)
    place = np.searchsorted(np.cumsum(row[possible]), u, side="right")
    return possible[np.minimum(place, len(possible) - 1)]


def _observe_dirichlet(row: np.ndarray, u: np.ndarray, r: int, world_class: str) -> np.ndarray:
    """By the form that PIG has for smoothed histograms over the possible outcomes."""
    alpha, possible, pig_and_gain = ALPHA[world_class], row > 0, np.empty((2, *u.shape))
    c = np.where(possible, alpha, 0.0) * np.ones((len(u), 1))
    for k in range(u.shape[1]):
        total = c.sum(axis=1, keepdims=True)
        ratio = np.log2(np.where(possible, c + 1, 1.0) / np.where(possible, c, 1.0))
        shrink = np.log2(total[:, 0] / (total[:, 0] + 1))
        pig_and_gain[0, :, k] = shrink + np.sum(c * (c + 1) * ratio / (total * (total + 1)), axis=1)
        s_next = _outcomes(row, u[:, k])
        trials = np.arange(len(u))
        pig_and_gain[1, :, k] = shrink + row[s_next] * ratio[trials, s_next]
        c[trials, s_next] += 1
    return pig_and_gain


def _observe_1_2_3(row: np.ndarray, u: np.ndarray, r: int, world_class: str) -> np.ndarray:
    """By the internal model, for each set of targets seen; a set is a number, one bit for each target."""
    targets = np.flatnonzero(row)
    sets = [frozenset(t for j, t in enumerate(targets.tolist()) if mask >> j & 1) for mask in range(2 ** len(targets))]
    models = [_model_1_2_3(r % 3, r // 3, seen) for seen in sets]
    pig, estimate = np.array([m[1] for m in models]), np.array([m[0][targets] for m in models])
    after = np.bitwise_or.accumulate(1 << np.searchsorted(targets, _outcomes(row, u)), axis=1)
    before = np.concatenate([np.zeros((len(u), 1), dtype=int), after[:, :-1]], axis=1)
    return np.stack([pig[before], np.sum(row[targets] * np.log2(estimate[after] / estimate[before]), axis=-1)])


@cache
def _model_1_2_3(a: int, s: int, seen: frozenset[int]) -> tuple[np.ndarray, float]:
    model = berlyne.InternalModel(berlyne.OneTwoThree(20))
    model.observe_many([(s, a, target) for target in sorted(seen)])
    return model.theta_hat_row(a, s), float(berlyne.pig(model)[a, s])
