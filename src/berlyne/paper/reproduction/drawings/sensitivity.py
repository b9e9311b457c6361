"""Verdicts under other readings of the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.figures.figure_data import Drawing
from berlyne.figures.sensitivity import draw_sensitivity
from berlyne.paper.claims import CLAIMS
from berlyne.paper.reproduction.evidence import verdicts_of
from berlyne.paper.reproduction.robustness import AS_READ, REEVALUATED, cells
from berlyne.paper.reproduction.variants import VARIANTS

if TYPE_CHECKING:
    import xarray as xr

    from berlyne.paper.reproduction.paper_run import PaperRun


def sensitivity(paper_run: PaperRun) -> Drawing:
    """Draw the verdicts on claims under every variant."""
    variants = {AS_READ: AS_READ, **{v.id: f"{v.text} ({v.reading})" for v in VARIANTS}}
    return draw_sensitivity(_cells(paper_run), {id_: CLAIMS[id_].short for id_ in REEVALUATED}, variants)


def _cells(paper_run: PaperRun) -> xr.Dataset:
    """Return verdict, largest change of an effect and kind of flip, by variant and claim; "as read" comes first."""
    import xarray as xr

    dims = ("variant", "claim")
    table: dict[str, list[list[Any]]] = {
        "verdict": [[verdicts_of(paper_run)[id_].word for id_ in REEVALUATED]],
        "change": [[0.0] * len(REEVALUATED)],
        "flip": [[""] * len(REEVALUATED)],
    }
    for by_claim in cells(paper_run).values():
        table["verdict"].append([by_claim[id_].after.word if id_ in by_claim else "" for id_ in REEVALUATED])
        table["change"].append([by_claim[id_].size if id_ in by_claim else np.nan for id_ in REEVALUATED])
        table["flip"].append([by_claim[id_].flip if id_ in by_claim else "" for id_ in REEVALUATED])
    labels = {"variant": [AS_READ, *cells(paper_run)], "claim": list(REEVALUATED)}
    return xr.Dataset({name: (dims, rows) for name, rows in table.items()}, labels)
