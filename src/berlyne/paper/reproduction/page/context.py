"""What the page shows: one study's verdicts, what becomes of them otherwise, and what the default gives."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from berlyne.paper.claims import CLAIMS, Verdict
from berlyne.paper.claims.compare import MIN_WORLDS
from berlyne.paper.claims.verdict import HOLDS
from berlyne.paper.reproduction.paper_run import PaperRun
from berlyne.paper.reproduction.robustness import Cell, cells
from berlyne.paper.reproduction.variants import VARIANTS


@dataclass(frozen=True)
class PageContext:
    """All that the sections of the page are made from.

    cells : every claim that is asked again, under every variant: `cells[variant][claim]`.
    default : the verdicts under the default assumptions; empty if these are the default.
    """

    paper_run: PaperRun
    verdicts: Mapping[str, Verdict]
    cells: Mapping[str, Mapping[str, Cell]] = field(default_factory=dict)
    default_verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def from_run(cls, paper_run: PaperRun, seconds: Mapping[str, float]) -> PageContext:
        """What is stored of a study; if it assumes something else than the default, of that beside it, too."""
        default_verdicts = default_run(paper_run).verdicts if paper_run.assumptions.changed else {}
        return cls(paper_run, paper_run.verdicts, cells(paper_run), default_verdicts, seconds)

    @property
    def too_few_worlds(self) -> bool:
        """Whether there are too few worlds to say that two strategies are alike."""
        return self.paper_run.n_worlds < MIN_WORLDS

    def group(self, claim: str) -> str:
        """What the verdict on a claim counts as."""
        return CLAIMS[claim].group(self.verdicts[claim].word)

    def is_reevaluated(self, claim: str) -> bool:
        """Whether a claim is part of the sensitivity analysis."""
        return any(claim in by for by in self.cells.values())

    def flipping_variants(self, claim: str) -> dict[str, str]:
        """The variants that flip the verdict on a claim, and how, as `FLIPS` has it."""
        return {variant: by[claim].flip for variant, by in self.cells.items() if claim in by and by[claim].flip}

    def not_held(self) -> list[str]:
        """The claims that do not hold, or are undecided."""
        return [claim for claim, verdict in self.verdicts.items() if verdict.word != HOLDS]


def default_run(paper_run: PaperRun) -> PaperRun:
    """The same worlds under the default assumptions, in the folder beside the numbers of the study."""
    return PaperRun(paper_run.folder / "default", paper_run.n_worlds, paper_run.seed)


VARIANT_TEXTS = {variant.id: variant.text for variant in VARIANTS}


def format_value(value: Any) -> str:
    """The value of an assumption as `--set` takes it."""
    return value if isinstance(value, str) else json.dumps(list(value) if isinstance(value, tuple) else value)


def command(changed: Mapping[str, Any]) -> str:
    """The command that reproduces the paper under some assumptions."""
    said = (shlex.quote(f"{key}={format_value(value)}") for key, value in changed.items())
    return " ".join(["berlyne reproduce FOLDER", *(f"--set {text}" for text in said)])
