"""Load randomly damaged explorer files: PYTHONPATH=tests python tests/fuzz/explorers.py 10000.

Each file is *refused* with a one-sentence error, or *harmless*. A harmless file gives a consistent explorer (estimates
and utilities agree with its counts, actions exist) that equals the saved one if only bytes were damaged. A file that
loads and is not harmless is *silent*, and one that fails with another error than `ValueError` is *crashed*. Both must
never happen.
"""

from __future__ import annotations

import multiprocessing
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

from berlyne import UTILITIES, Dirichlet, Explorer, OneTwoThree, maze
from unit.archives import rewrite_archive

PRIORS = {
    "maze": (lambda: maze(0, side=4, n_transporters=6).prior, "PIG(VI)"),
    "full": (lambda: Dirichlet(0.5, n_states=6, n_actions=3), "PEIG(Q)"),
    "large": (lambda: Dirichlet(0.5, n_states=40, n_actions=2), "CB"),
    "1-2-3": (lambda: OneTwoThree(12), "PIG(greedy)"),
    "anywhere": (lambda: Dirichlet(1.0, n_states=5, n_actions=2), "Unembodied"),
}
NUMBERS = (0, 1, -1, 2, 7, 2**31 - 1, 2**31, -(2**31), 2**62, -(2**63), 10**6)
ODD = (*NUMBERS, 0.5, -0.0, 1e-310, 1e300, float("inf"), float("nan"), None, "x", [], {}, True, 10**30, "PIG", "VI")


def saved(kind: str, path: Path) -> None:
    """A healthy explorer that has seen something."""
    make, name = PRIORS[kind]
    explorer, rng, s = Explorer(make(), name, seed=1), np.random.default_rng(2), 0
    for _ in range(60):
        s, a = explorer.choose_pair() if explorer.strategy.relocates else (s, explorer.act(s))
        s_next = int(rng.choice(np.flatnonzero(explorer.model.theta_hat_row(a, s) > 0)))
        explorer.observe(s, a, s_next)
        s = s_next
    explorer.save(path)


def digest(explorer: Explorer) -> tuple[object, ...]:
    """Return the contents by which explorers are compared."""
    e = explorer
    return (
        str(e.strategy),
        repr(e.prior),
        e.n_obs,
        e.model.counts.tobytes(),
        e.utility().tobytes(),
        str(e._rng.bit_generator.state),
    )


def is_consistent(explorer: Explorer) -> bool:
    """Whether estimates and utilities follow from counts, and actions exist."""
    e, model, name = explorer, explorer.model, explorer.strategy.utility
    expected = np.zeros((e.n_actions, e.n_states)) if name is None else UTILITIES[str(name)].of(model)
    if name == "PEIG" and e.strategy.untried is not None:
        return True  # a constant that only the strategy knows
    if not np.allclose(e.utility(), expected, rtol=1e-9, atol=1e-12) or not np.all(np.isfinite(e.utility())):
        return False
    s, a = e.choose_pair() if e.strategy.relocates else (e.states[0], e.act(e.states[0]))
    return a in e.actions and s in e.states and int(model.counts.sum()) == e.n_obs


def damage_bytes(path: Path, rng: random.Random) -> None:
    """Flip, cut, repeat or overwrite some of the file."""
    data = bytearray(path.read_bytes())
    for _ in range(rng.choice((1, 1, 1, 2, 20))):
        at = rng.randrange(len(data))
        damage = rng.randrange(5)
        if damage == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif damage == 1:
            data[at] = rng.randrange(256)
        elif damage == 2:
            del data[at : at + rng.choice((1, 4, 1000))]
        elif damage == 3:
            data[at:at] = bytes(rng.randrange(256) for _ in range(rng.choice((1, 4, 64))))
        else:
            data[at : at + 8] = rng.choice((b"\0" * 8, b"\xff" * 8))
        if not data:
            data = bytearray(b"\0")
    path.write_bytes(bytes(data))


def damage_content(path: Path, rng: random.Random) -> None:
    """A whole archive again, with other numbers in it and a checksum that fits them."""

    def change(settings: dict[str, object], arrays: dict[str, np.ndarray]) -> None:
        for _ in range(rng.choice((1, 1, 2, 4))):
            if rng.random() < 0.4:
                _damage_settings(settings, rng)
            else:
                _damage_array(arrays, rng)

    rewrite_archive(path, change)


def _damage_settings(settings: dict[str, object], rng: random.Random) -> None:
    """Replace or remove something somewhere in it."""
    here: object = settings
    while isinstance(here, dict) and here:
        key = rng.choice(list(here))
        if not isinstance(here[key], dict) or rng.random() < 0.2:
            if rng.random() < 0.15:
                del here[key]
            else:
                here[key] = rng.choice(ODD)
            return
        here = here[key]


def _damage_array(arrays: dict[str, np.ndarray], rng: random.Random) -> None:
    name = rng.choice(list(arrays))
    values, damage = arrays[name], rng.randrange(9)
    if damage == 0:
        del arrays[name]
    elif damage == 1:
        arrays[name] = values[: rng.randrange(len(values) + 1)]
    elif damage == 2:
        arrays[name] = values.astype(rng.choice(("f4", "f8", "i1", "i8", "u8", "U5", "?", "c16")))
    elif damage == 3:
        arrays[name] = np.repeat(values, 2, axis=0)
    elif damage == 4:
        arrays[name] = values.reshape(-1)
    elif damage == 5:
        arrays[name] = values[::-1]
    elif values.size:
        changed = values.astype(float) if damage == 6 else values.copy()
        number = rng.choice((np.nan, np.inf, -np.inf, 0.5)) if damage == 6 else rng.choice(NUMBERS)
        with np.errstate(all="ignore"):
            changed.reshape(-1)[rng.randrange(changed.size)] = np.array(number).astype(changed.dtype)
        arrays[name] = changed


def classify(path: Path, expected: tuple[object, ...], only_bytes: bool) -> str:
    """Load a file and classify the result."""
    try:
        explorer = Explorer.load(path)
    except ValueError as error:
        return "refused" if "\n" not in str(error) else "crashed"
    except Exception:  # any other is not for users
        return "crashed"
    if only_bytes:
        return "harmless" if digest(explorer) == expected else "silent"
    try:
        return "harmless" if is_consistent(explorer) else "silent"
    except ValueError:
        return "silent"


def damage_some(seed: int, n: int, keep: str | None = None) -> Counter[str]:
    """Damage and judge `n` files; those that are silent or crash are kept in a folder if one is given."""
    rng, tally = random.Random(seed), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        healthy = {}
        for kind in PRIORS:
            path = Path(folder) / f"{kind}.healthy"
            saved(kind, path)
            healthy[kind] = path.read_bytes(), digest(Explorer.load(path))
        for i in range(n):
            kind, only_bytes = rng.choice(list(PRIORS)), rng.random() < 0.4
            path = Path(folder) / "explorer.npz"
            path.write_bytes(healthy[kind][0])
            (damage_bytes if only_bytes else damage_content)(path, rng)
            verdict = classify(path, healthy[kind][1], only_bytes)
            tally[verdict] += 1
            if keep and verdict in ("silent", "crashed"):
                (Path(keep) / f"{seed}-{i}-{kind}-{verdict}.npz").write_bytes(path.read_bytes())
    return tally


def in_a_process(seed: int, n: int, keep: str | None) -> Counter[str]:
    """Run `damage_some` in a new process. If that process crashes, this counts as one crash."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        try:
            return pool.apply_async(damage_some, (seed, n, keep)).get(timeout=600)
        except multiprocessing.TimeoutError:
            return Counter(crashed=1)


def main() -> None:
    """Print the counts."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    keep = sys.argv[2] if len(sys.argv) > 2 else None
    total: Counter[str] = Counter()
    for seed in range(-(-n // 500)):
        total += in_a_process(seed, min(500, n - 500 * seed), keep)
    print({verdict: total[verdict] for verdict in ("refused", "harmless", "silent", "crashed")})


if __name__ == "__main__":
    main()
