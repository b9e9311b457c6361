"""Table of the parts of a reproduction, with the modules, settings and other parts that decide each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from berlyne.figures.figure_data import FILES
from berlyne.paper.claims import CLAIMS
from berlyne.paper.reproduction.figure_list import FIGURES
from berlyne.paper.reproduction.freshness import SETTINGS_MODULES, Part
from berlyne.paper.reproduction.paper_run import PaperRun
from berlyne.paper.reproduction.stages import STAGES

CLAIMS_NEED = tuple(dict.fromkeys(need for claim in CLAIMS.values() for need in claim.needs))
"""Parts that claims are checked on."""
REPORT = "berlyne.paper.reproduction.report"
"""Module that writes the report."""


def figure_part(name: str) -> str:
    """Return the name of the part that is a figure; a stage may have the name of the figure."""
    return f"figure {name}"


def all_parts() -> dict[str, Part]:
    """Return every part by name, in the order in which they are made."""
    parts = [Part("explorations", ("results.zarr",), ("berlyne.experiments.run",), (), _no_settings)]
    for name, stage in STAGES.items():
        modules = (type(stage).__module__, *SETTINGS_MODULES)
        parts.append(Part(name, (f"data/{name}.zarr",), modules, stage.needs, _stage_settings(name)))
    for name, figure in FIGURES.items():
        outputs = tuple(f"figures/{file.format(name=name)}" for file in FILES)
        modules = (figure.draw.__module__, *SETTINGS_MODULES)
        parts.append(Part(figure_part(name), outputs, modules, figure.needs, _all_settings))
    claims_modules = ("berlyne.paper.reproduction.claims_file", "berlyne.paper.reproduction.evidence")
    parts.append(Part("claims", ("claims.json",), (*claims_modules, *SETTINGS_MODULES), CLAIMS_NEED, _all_settings))
    needs = (*STAGES, *map(figure_part, FIGURES), "claims")
    parts.append(Part("report", ("report.html",), (REPORT,), needs, _all_settings))
    return {part.name: part for part in parts}


def _no_settings(_: PaperRun) -> Mapping[str, Any]:
    """Return nothing: a store of explorations refuses other settings itself, and can grow."""
    return {}


def _stage_settings(name: str) -> Callable[[PaperRun], Mapping[str, Any]]:
    return lambda paper_run: paper_run.configured(STAGES[name]).settings(paper_run)


def _all_settings(paper_run: PaperRun) -> Mapping[str, Any]:
    """Return the settings of figures, claims and the report."""
    return {"explorations": paper_run.experiment.describe(), "assumptions": paper_run.assumptions.describe()}
