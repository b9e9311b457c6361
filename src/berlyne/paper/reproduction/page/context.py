"""Data that the sections of the report show: verdicts, verdicts under variants, and verdicts of the default."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from berlyne.paper.claims import CLAIMS, Verdict
from berlyne.paper.claims.compare import MIN_WORLDS
from berlyne.paper.claims.verdict import HOLDS
from berlyne.paper.reproduction.evidence import verdicts_of
from berlyne.paper.reproduction.paper_run import PaperRun
from berlyne.paper.reproduction.robustness import Cell, cells
from berlyne.paper.reproduction.variants import VARIANTS


@dataclass(frozen=True)
class PageContext:
    """Data for the sections of the report.

    Parameters
    ----------
    paper_run : PaperRun
        The reproduction.
    verdicts : mapping of str to Verdict
        Verdict on every claim, by id.
    cells : mapping of str to mapping of str to Cell
        Claims checked again under every variant: `cells[variant][claim]`.
    default_verdicts : mapping of str to Verdict
        Verdicts under the default assumptions; empty if the assumptions are the default.
    seconds : mapping of str to float
        Duration of each part, in seconds.
    """

    paper_run: PaperRun
    verdicts: Mapping[str, Verdict]
    cells: Mapping[str, Mapping[str, Cell]] = field(default_factory=dict)
    default_verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def from_run(cls, paper_run: PaperRun, seconds: Mapping[str, float]) -> PageContext:
        """Read the data of a reproduction and, if its assumptions are changed, of the default in its subfolder."""
        default_verdicts = verdicts_of(default_run(paper_run)) if paper_run.assumptions.changed else {}
        return cls(paper_run, verdicts_of(paper_run), cells(paper_run), default_verdicts, seconds)

    @property
    def too_few_worlds(self) -> bool:
        """Whether there are too few worlds to decide that strategies are not significantly different."""
        return self.paper_run.n_worlds < MIN_WORLDS

    def group(self, claim: str) -> str:
        """Return the group that the verdict on a claim is counted in."""
        return CLAIMS[claim].group(self.verdicts[claim].word)

    def is_reevaluated(self, claim: str) -> bool:
        """Return whether a claim is part of the sensitivity analysis."""
        return any(claim in by_claim for by_claim in self.cells.values())

    def flipping_variants(self, claim: str) -> dict[str, str]:
        """Return the variants that flip the verdict on a claim, each with its kind of flip (a key of `FLIPS`)."""
        cells = {variant: by_claim[claim] for variant, by_claim in self.cells.items() if claim in by_claim}
        return {variant: cell.flip for variant, cell in cells.items() if cell.flip}

    def not_held(self) -> list[str]:
        """Return the claims that do not hold or are undecided."""
        return [claim for claim, verdict in self.verdicts.items() if verdict.word != HOLDS]


def default_run(paper_run: PaperRun) -> PaperRun:
    """Return the reproduction of the same worlds under the default assumptions, in the subfolder `default`."""
    return PaperRun(paper_run.folder / "default", paper_run.n_worlds, paper_run.seed)


VARIANT_TEXTS = {variant.id: variant.text for variant in VARIANTS}
"""Description of each variant, by id."""


def format_value(value: Any) -> str:
    """Return the value of an assumption as text for `--set`."""
    return value if isinstance(value, str) else json.dumps(list(value) if isinstance(value, tuple) else value)


def command(changed: Mapping[str, Any]) -> str:
    """Return the command that reproduces the paper under changed assumptions."""
    settings = (shlex.quote(f"{key}={format_value(value)}") for key, value in changed.items())
    return " ".join(["berlyne reproduce FOLDER", *(f"--set {setting}" for setting in settings)])
