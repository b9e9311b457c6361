"""Read the stored explorations of a reproduction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from berlyne.strategies.registry import PAPER_STRATEGIES

if TYPE_CHECKING:
    import xarray as xr

    from berlyne.paper.reproduction.paper_run import PaperRun


def stored_explorations(paper_run: PaperRun, world_class: str) -> xr.Dataset:
    """Return the stored explorations of a class, (world, strategy, ...), with strategies in the order of the paper."""
    return (
        paper_run.results.of(world_class).sel(strategy=list(PAPER_STRATEGIES)).isel(world=slice(0, paper_run.n_worlds))
    )


def load_counts(paper_run: PaperRun, world_class: str) -> Any:
    """Return the stored counts of a class at its snapshots, (world, strategy, snapshot, transition), in memory."""
    world = paper_run.world(world_class, 0)
    size = world.n_actions * world.n_states**2
    return stored_explorations(paper_run, world_class)["counts"].isel(transition=slice(0, size)).values
