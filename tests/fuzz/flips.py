"""All single-bit flips of a small world file and of a small explorer file: python tests/fuzz/flips.py.

Each file with one flipped bit is *refused* with one sentence, or *equal*: it loads as the object that was saved.
*Silent* would be a file that loads as another object, *crashed* one that ends otherwise than by a `ValueError`. Both
must never happen.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from berlyne import Dirichlet, Explorer, World, load_world

THETA = np.array([[[0.5, 0.5, 0.0], [0.0, 0.0, 1.0], [0.25, 0.5, 0.25]], [[1.0, 0.0, 0.0]] * 3])


def save_world(path: Path) -> None:
    """A world with arrays that other worlds do without: positions and a distribution of starts."""
    prior = Dirichlet(0.5, n_states=3, n_actions=2)
    positions = [[0.0, 0.0], [1.0, 0.0], [2.0, 1.0]]
    World(THETA, prior, start=[0.5, 0.5, 0.0], positions=positions, name="small").save(path)


def save_explorer(path: Path) -> None:
    """An explorer with a history, terminal states and labels."""
    explorer = Explorer(Dirichlet(0.5, n_states=3, n_actions=2), "PIG(greedy)", seed=1, states=["x", "y", "z"])
    explorer.ends_in(["z"])
    for s, a, s_next in (("x", 0, "y"), ("y", 1, "x"), ("x", 1, "x"), ("x", 0, "y"), ("y", 0, "z")):
        explorer.observe(s, a, s_next)
    explorer.save(path)


def content_of_world(path: Path) -> tuple[Any, ...]:
    """All that tells the world in a file from others."""
    w = load_world(path)
    arrays = w.rows.indptr, w.rows.indices, w.rows.data, w.terminal, w.episodes.distribution, w.positions
    return *map(_bytes, arrays), w.states, w.actions, w.name, repr(w.start), repr(w.prior)


def content_of_explorer(path: Path) -> tuple[Any, ...]:
    """All that tells the explorer in a file from others."""
    e = Explorer.load(path)
    declared = e._declared_states, e._declared_terminal, e._terminal, e._last_outcomes
    rng, lived = str(e._rng.bit_generator.state), (None if e._history is None else list(e._history))
    arrays = e.model.counts, e.utility(), e._agent.state_dict()["visits"], e._agent.state_dict()["q"]
    return *map(_bytes, arrays), *declared, rng, lived, e.n_obs, tuple(e.states), tuple(e.actions), repr(e)


def _bytes(array: Any) -> bytes | None:
    return None if array is None else array.tobytes()


Kind = tuple[Callable[[Path], None], Callable[[Path], tuple[Any, ...]]]
PRIORS: dict[str, Kind] = {
    "world": (save_world, content_of_world),
    "explorer": (save_explorer, content_of_explorer),
}


def flipped(kind: str, choose: Callable[[bytes], Iterable[int]]) -> Counter[str]:
    """Flip, one after another, the bits of a file that `choose` names, and count what comes of it."""
    save, content_of = PRIORS[kind]
    tally = Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file.npz"
        save(path)
        sound, expected = path.read_bytes(), content_of(path)
        for bit in choose(sound):
            damaged = bytearray(sound)
            damaged[bit // 8] ^= 1 << bit % 8
            path.write_bytes(damaged)
            try:
                tally["equal" if content_of(path) == expected else "silent"] += 1
            except ValueError as error:
                tally["refused" if "\n" not in str(error) else "crashed"] += 1
            except Exception:  # any other is not for users
                tally["crashed"] += 1
    return tally


def main() -> None:
    """Flip every bit, and print the counts."""
    for kind in PRIORS:
        tally = flipped(kind, lambda sound: range(8 * len(sound)))
        words = ("refused", "equal", "silent", "crashed")
        print(f"{kind}: {tally.total()} flips", {word: tally[word] for word in words})


if __name__ == "__main__":
    main()
