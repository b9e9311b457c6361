"""Read, resume and repair damaged stores: python tests/fuzz/stores.py 2000 [SEED] prints the result of each.

A small valid store is copied and damaged at random. Then it is read, resumed and repaired. The result is one of

- refused: an operation gave a one-sentence error, and had no other effect;
- harmless: the values read are those that were stored;
- silent: other values were read, or something outside the store was written, without an error;
- crashed: an unexpected error, a hang, or a dead process.

The last two must not occur. A worker process does the work, so that the count survives a crash.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from waiting import Lines

PATIENCE = 60.0
"""Seconds that one damage may take before it counts as a hang."""
WORDS = ("refused", "harmless", "silent", "crashed")


def study() -> Any:
    """Return a study of two classes, three strategies and a custom measure, in pieces of three worlds."""
    import berlyne
    from berlyne.experiments import manifests, store

    store.BLOCK = 3
    manifests.PAUSES = (0.0,) * len(manifests.PAUSES)  # nobody else writes, so damaged chunks are read again at once
    return berlyne.Experiment(
        worlds={"maze": {"side": 3, "n_transporters": 4}, "dense": {"n_states": 4}},
        strategies=["Random", "LTA", "Unembodied"],
        n_worlds=3,
        n_steps={"maze": 30, "dense": 20},
        seed=1,
        snapshots=(0.5, 7, 1.0),
        measures={"last": last},
    )


def last(run: Any) -> float:
    """A measure."""
    return float(run.missing_information[-1])


def some_file(place: Path, rng: np.random.Generator, pattern: str = "*") -> Path:
    """Any file of a store."""
    paths = sorted(path for path in place.rglob(pattern) if path.is_file())
    return paths[rng.integers(len(paths))]


def flip(place: Path, rng: np.random.Generator) -> None:
    """One bit, in any file; the larger ones are not likelier."""
    path = some_file(place, rng)
    content = bytearray(path.read_bytes())
    content[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
    path.write_bytes(content)


def flip_study(place: Path, rng: np.random.Generator) -> None:
    """One byte of the study file."""
    path = place / "world" / "study.json"
    content = bytearray(path.read_bytes())
    content[rng.integers(len(content))] = rng.integers(256)
    path.write_bytes(content)


def truncate(place: Path, rng: np.random.Generator) -> None:
    """Cut a file short, or make it longer."""
    path = some_file(place, rng)
    content = path.read_bytes()
    path.write_bytes(content[: rng.integers(len(content))] if rng.random() < 0.8 else content + b"\0" * 7)


def delete(place: Path, rng: np.random.Generator) -> None:
    """A file, or the folder it is in."""
    path = some_file(place, rng)
    if rng.random() < 0.15 and path.parent != place:
        shutil.rmtree(path.parent)
    else:
        path.unlink()


def swap(place: Path, rng: np.random.Generator) -> None:
    """Swap two chunks or two manifests of any arrays, sometimes of the same array."""
    pattern = "manifest.*" if rng.random() < 0.2 else "c.*"
    one = some_file(place, rng, pattern)
    other = some_file(one.parent if rng.random() < 0.5 else place, rng, pattern)
    a, b = one.read_bytes(), other.read_bytes()
    one.write_bytes(b)
    other.write_bytes(a)


def swap_columns(place: Path, rng: np.random.Generator) -> None:
    """Swap all files of one piece with those of another."""
    (a, b), (c, d) = rng.integers(0, (2, 3), size=(2, 2))
    for folder in (path for path in place.iterdir() if path.is_dir()):
        for kind in ("c", "manifest"):
            columns = [list(folder.glob(f"{kind}.{i}.{j}*")) for i, j in ((a, b), (c, d))]
            contents = [[p.read_bytes() for p in paths] for paths in columns]
            if len(columns[0]) == len(columns[1]) == 1:
                columns[0][0].write_bytes(contents[1][0])
                columns[1][0].write_bytes(contents[0][0])


def duplicate(place: Path, rng: np.random.Generator) -> None:
    """One file in the place of another."""
    one, other = some_file(place, rng), some_file(place, rng)
    other.write_bytes(one.read_bytes())


def replace(place: Path, rng: np.random.Generator) -> None:
    """A folder, a pipe or a link in the place of a file or a folder."""
    path = some_file(place, rng)
    if rng.random() < 0.2 and path.parent != place:
        path = path.parent
    target = {
        "file": some_file(place, rng), "outside": place.parent / "outside", "nothing": place / "nothing",
        "device": Path("/dev/zero"), "itself": path,
    }  # fmt: skip
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    replacement = rng.choice(["folder", "pipe", *target])
    if replacement == "folder":
        path.mkdir()
    elif replacement == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(target[replacement])


def junk(place: Path, rng: np.random.Generator) -> None:
    """Add foreign files, folders, pipes and links, also at paths that will be written."""
    near = some_file(place, rng)
    names = [f"{near.name}.partial", "c.9.9.9", "notes", ".DS_Store", "c.0.0.0.0.0", "manifest.7.7", "x.partial"]
    path = near.with_name(str(rng.choice(names)))
    if path.exists():
        return
    choice = rng.integers(4)
    if choice == 0:
        path.write_bytes(rng.bytes(20))
    elif choice == 1:
        path.mkdir()
    elif choice == 2:
        os.mkfifo(path)
    else:
        path.symlink_to(place.parent / "outside" / "notes")


def leaves(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to everything in nested data."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [way for key, one in inner for way in [(*at, key), *leaves(one, (*at, key))]]


HOSTILE = [
    10**18, -1, 0, 2**63, 1e308, 10**400, True, None, "", "x" * 10_000, [], {}, [[]], "../../outside/notes", "NaN", 2,
    json.loads("[" * 200 + "]" * 200),
]  # fmt: skip


def metadata(place: Path, rng: np.random.Generator) -> None:
    """Another value, name or nothing somewhere in a file of metadata."""
    path = some_file(place, rng, "*.json")
    messages = json.loads(path.read_bytes())
    ways = leaves(messages)
    *before, last_key = ways[rng.integers(len(ways))]
    holder = messages
    for key in before:
        holder = holder[key]
    choice = rng.integers(4)
    if choice == 0:
        del holder[last_key]
    elif choice == 1 and isinstance(holder, dict):
        names = ["../../outside/notes", "/tmp/x", "a/../../../outside", "mine", "", "\0", "state"]
        holder[str(rng.choice(names))] = holder.pop(last_key)
    else:
        holder[last_key] = HOSTILE[rng.integers(len(HOSTILE))]
    path.write_text(json.dumps(messages))


DAMAGES = (flip, flip, flip_study, truncate, delete, swap, swap, swap_columns, duplicate, replace, junk, metadata)


def contents(place: Path) -> dict[str, Any]:
    """All that can be read of a store."""
    import berlyne

    results = berlyne.open_results(place)
    repr(results)
    results.history("maze/001", "Unembodied")
    arrays = {str(name): results.dataset[name].values for name in results.dataset.variables}
    return {**arrays, "settings": results.settings}


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether the same was read."""
    if one.keys() != other.keys() or one["settings"] != other["settings"]:
        return False
    return all(
        value.dtype == other[name].dtype and np.array_equal(value, other[name], equal_nan=value.dtype.kind == "f")
        for name, value in one.items()
        if name != "settings"
    )


def tree(folder: Path) -> dict[str, bytes | None]:
    """Return all files below a folder, by path."""
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


def check_store(folder: Path, expected: dict[str, Any]) -> tuple[str, str]:
    """How the damaged store in `folder` is met, and what was said."""
    place, outside, messages = folder / "results.zarr", tree(folder / "outside"), []
    for use in ("read", "run", "repair"):
        try:
            if use != "read":
                study().run(place, jobs=1, repair=use == "repair")
            if not same(contents(place), expected):
                return "silent", f"{use}: other values"
        except Exception as error:
            is_answer = type(error).__name__ in ("StoreError", "SettingsError", "ValueError")
            is_answer |= isinstance(error, OSError) and bool(error.strerror) and isinstance(error.filename, str | Path)
            if not is_answer or "\n" in str(error):
                return "crashed", f"{use}: {type(error).__name__}: {error}"
            messages.append(f"{use}: {error}")
        if tree(folder / "outside") != outside or len(os.listdir(folder)) != 2:
            return "silent", f"{use}: wrote outside"
    return ("refused" if messages else "harmless"), "; ".join(messages)


def work(first: int, last_one: int, seed: int) -> None:
    """Meet damages first..last_one - 1, each with a line of its own."""
    with tempfile.TemporaryDirectory() as name:
        healthy = Path(name) / "healthy.zarr"
        study().run(healthy, jobs=1)
        expected = contents(healthy)
        for i in range(first, last_one):
            folder, rng = Path(name) / str(i), np.random.default_rng([seed, i])
            (folder / "outside").mkdir(parents=True)
            (folder / "outside" / "notes").write_text("mine")
            place = folder / "results.zarr"
            shutil.copytree(healthy, place)
            damage = DAMAGES[i % len(DAMAGES)]
            damage(place, rng)
            word, why = check_store(folder, expected)
            print(json.dumps([i, damage.__name__, word, why.replace(str(folder), "...")]), flush=True)
            shutil.rmtree(folder)


def fuzz(n: int, seed: int = 0) -> list[tuple[int, str, str, str]]:
    """Meet `n` damages: number, kind, word and what was said of each."""
    records: list[tuple[int, str, str, str]] = []
    while len(records) < n:
        command = [sys.executable, __file__, "--work", str(len(records)), str(n), str(seed)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as worker:
            assert worker.stdout is not None
            lines, hung = Lines(worker.stdout.fileno()), False
            try:
                while (line := lines.next(PATIENCE)).endswith("\n"):
                    records.append(tuple(json.loads(line)))
            except TimeoutError:
                hung = True
            worker.kill()
        if len(records) < n:
            outcome = f"hung for {PATIENCE:.0f} s" if hung else f"ended with {worker.returncode}"
            records.append((len(records), "unknown", "crashed", outcome))
    return records


def main() -> None:
    """Print a table of counts, and every damage that was not met well."""
    n, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    records = fuzz(n, seed)
    counts = Counter((kind, word) for _, kind, word, _ in records)
    print(f"| damage | {' | '.join(WORDS)} |\n|---|{'---:|' * len(WORDS)}")
    for kind in sorted({kind for _, kind, _, _ in records}):
        print(f"| {kind} | {' | '.join(str(counts[kind, word]) for word in WORDS)} |")
    print(f"| all | {' | '.join(str(sum(w == word for _, _, w, _ in records)) for word in WORDS)} |")
    for one in records:
        if one[2] in ("silent", "crashed"):
            print(*one)


if __name__ == "__main__":
    if sys.argv[1] == "--work":
        work(*map(int, sys.argv[2:5]))
    else:
        main()
