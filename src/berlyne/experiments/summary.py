"""What there is to say about stored results, in words and numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from berlyne.experiments.metadata import n_positions
from berlyne.experiments.results import MISSING, Results
from berlyne.experiments.root import read_root


def lines_about(results: Results) -> Iterator[str]:
    """What was run, of what size, with which versions, and what is stored."""
    settings, attributes = results.settings, read_root(results.path)["attributes"]
    yield repr(results)
    worlds = [f"{name} ({said['n_steps']:,} steps)" for name, said in settings["worlds"].items()]
    runs = f", {settings['n_runs']:,} runs in each" if settings.get("n_runs", 1) > 1 else ""
    yield f"worlds: {', '.join(worlds)}; {settings['n_worlds']:,} of each class{runs}"
    common = "; common random numbers" if settings.get("common_random_numbers") else ""
    yield f"seed: {settings['seed']}{common}"
    if "shard" in attributes:
        yield "shard: {} of {}".format(*attributes["shard"])
    if settings["snapshots"]:
        yield f"snapshots: {', '.join(map(str, settings['snapshots']))}"
    yield f"measures: {'; '.join(_measure(results, str(name)) for name in results.dataset.data_vars)}"
    for label, said in (("versions", attributes["versions"]), *_earlier(attributes)):
        yield f"{label}: {', '.join(f'{name} {number}' for name, number in said.items())}"


def _earlier(attributes: dict[str, list[dict[str, str]]]) -> Iterator[tuple[str, dict[str, str]]]:
    for said in attributes.get("earlier_versions", []):
        yield "earlier versions", said


def _measure(results: Results, name: str) -> str:
    array = results.dataset[name]
    dims = ", ".join(str(dim) for dim in array.dims if dim not in ("world", "strategy"))
    return f"{name} ({dims})" if dims else name


def final_lines(results: Results, world_class: str) -> Iterator[tuple[str, str, str, str, str]]:
    """For each strategy: class, name, explorations done and missing, and missing information at the end, in bits.

    The last is the mean and its standard error, as `Results.curves` has them at the last time; of environments that
    show no transition table what explorers expect to be missing, and it says so.
    """
    of_each = n_positions({**results.settings, "worlds": {world_class: {}}})
    done = results.areas(world_class).notnull().sum("world")
    expected = results.has_no_table(world_class)
    ends = results.ends(world_class) if expected or MISSING in results.dataset else None
    for name in results.strategies:
        n, left = int(done.sel(strategy=name)), "not stored"
        if ends is not None:
            mean, sem = (float(ends[what].sel(strategy=name)) for what in ("mean", "sem"))
            error = "" if np.isnan(sem) else f" \N{PLUS-MINUS SIGN} {sem:.2g}"
            left = "-" if np.isnan(mean) else f"{mean:.2f}{error} bits{' expected' if expected else ''}"
        yield world_class, name, str(n), str(of_each - n), left
