"""How a store comes into being, and what its root says when it is made, grown or joined."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from berlyne.experiments.files import StoreError
from berlyne.experiments.measures import MEASURES
from berlyne.experiments.metadata import array_metadata, derived_files, put_right, versions
from berlyne.experiments.piece import Layout, Piece, compute_piece
from berlyne.experiments.root import FORMAT, Root, publish
from berlyne.experiments.settings import Experiment, SettingsError
from berlyne.experiments.shard import Shard
from berlyne.experiments.unfinished import UnfinishedPieceError
from berlyne.pages import RESUMING
from berlyne.serialization import atomic_folder

KEYS = (
    "worlds", "strategies", "n_worlds", "seed", "snapshots", "measures",
    "own strategies", "n_runs", "common_random_numbers", "described measures",
)  # fmt: skip
"""Settings in the order in which an experiment describes itself."""
KEPT = ("earlier_format", "explored", "shard")
"""What a root goes on saying."""


def create(path: Path, experiment: Experiment, block: int, piece_bytes: int, shard: Shard | None) -> None:
    """Make an empty store, complete or not at all; a piece has at most `block` worlds and `piece_bytes` bytes."""
    if path.is_symlink():
        raise StoreError(f"{path} is a symbolic link to nothing; remove it, or use another place")
    with atomic_folder(path) as partial:
        layout, settings = Layout.of(experiment), experiment.describe()
        fit = piece_bytes // layout.n_bytes(len(experiment.snapshots), len(experiment.own))
        own = _own_measures(experiment, layout)
        arrays = array_metadata(settings, layout, max(1, min(block, fit)), own, list(experiment.kept))
        put_right(partial, derived_files(settings, arrays))
        publish(partial, attributes_of(settings, versions(), {"shard": list(shard)} if shard else {}), arrays)


def _own_measures(experiment: Experiment, layout: Layout) -> dict[str, int]:
    """Dimensions of the user's own measures that do not say theirs, as told by the first exploration."""
    if not experiment.own:
        return {}
    try:
        computed = compute_piece(experiment, Piece(0, 1, experiment.strategy_names[0], (0,)), layout)
    except UnfinishedPieceError as failure:
        raise failure.error from failure.error.__cause__
    return {name: computed[name].ndim + 1 for name, measure in experiment.own.items() if measure.dims is None}


def resized(array: dict[str, Any], n_positions: int, n_names: int) -> dict[str, Any]:
    """The metadata of an array with other numbers of worlds and strategies."""
    sizes = {"world": n_positions, "strategy": n_names}
    shape = [sizes.get(dim, n) for dim, n in zip(array["dimension_names"], array["shape"], strict=True)]
    return {**array, "shape": shape}


def attributes_of(settings: dict[str, Any], now: dict[str, str], before: dict[str, Any]) -> dict[str, Any]:
    """What the root says; versions that computed some of the results before are kept."""
    earlier = list(before.get("earlier_versions", []))
    if "versions" in before and before["versions"] != now and before["versions"] not in earlier:
        earlier.append(before["versions"])
    labels = "world_class" if settings.get("n_runs", 1) == 1 else "world_class run"
    said = {"berlyne_format": FORMAT, "settings": settings, "versions": now, "coordinates": labels}
    kept: dict[str, Any] = {key: before[key] for key in KEPT if key in before}
    return {**said, **({"earlier_versions": earlier} if earlier else {}), **kept}


def united(kept: dict[str, Any], asked: dict[str, Any], names: list[str], n_worlds: int) -> dict[str, Any]:
    """Settings of a store that holds what is kept and what is asked for."""
    worlds = {}
    for name, said in kept["worlds"].items():
        wanted = asked["worlds"][name]
        worlds[name] = max(said, wanted, key=lambda one: len(one.get("worlds", ())))
    own = {**kept.get("own strategies", {}), **asked.get("own strategies", {})}
    n_runs = max(kept.get("n_runs", 1), asked.get("n_runs", 1))
    both = {**kept, "worlds": worlds, "strategies": names, "n_worlds": n_worlds}
    both |= {"own strategies": own} if own else {}
    both |= {"n_runs": n_runs} if n_runs > 1 else {}
    return {key: both[key] for key in (*KEYS, *(both.keys() - set(KEYS))) if key in both}


def refuse_other_measures(path: Path, root: Root, experiment: Experiment) -> None:
    """A store keeps the usual measures that it was made with."""
    there = [name for name in MEASURES if name in root["arrays"]]
    for name in experiment.kept:
        if name not in there:
            raise SettingsError(
                f"{path} was made without the measure {name}, which is kept now; use another place{RESUMING}"
            )
    for name in there:
        if name not in experiment.kept:
            raise SettingsError(
                f"{path} was made with the measure {name}, which is not asked for; use another place{RESUMING}"
            )


def refuse_other_shard(path: Path, root: Root, asked: Shard | None) -> None:
    """A store of a shard is gone on with as that shard, and a whole one as a whole."""
    said = root["attributes"].get("shard")
    kept = None if said is None else Shard(*said)
    if kept != asked:
        was, wanted = (f"shard {one}" if one else "the whole study" for one in (kept, asked))
        raise SettingsError(f"{path} was made for {was}, and {wanted} is asked for; use another place{RESUMING}")
