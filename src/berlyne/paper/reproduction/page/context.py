"""Data that the sections of the report show: verdicts, verdicts under variants, and verdicts of the default."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from berlyne.paper.claims import CLAIMS, Verdict
from berlyne.paper.claims.compare import MIN_WORLDS
from berlyne.paper.claims.fitted import FITTED
from berlyne.paper.claims.verdict import (
    FAILS,
    GROUP_TEXTS,
    HOLDS,
    INDEPENDENT,
    UNDECIDED,
    USED_FOR_FITTING,
    group_counts,
)
from berlyne.paper.reproduction.assumptions import KEYS
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

    def reevaluated(self) -> list[str]:
        """Return the claims that are part of the sensitivity analysis."""
        return [claim for claim in self.verdicts if self.is_reevaluated(claim)]

    def not_held(self) -> list[str]:
        """Return the claims that do not hold or are undecided."""
        return [claim for claim, verdict in self.verdicts.items() if verdict.word != HOLDS]

    def not_held_title(self) -> str:
        """Return the title of the section on claims that do not hold or are undecided."""
        words = {self.verdicts[claim].word for claim in self.not_held()}
        if words == {FAILS}:
            return "What does not hold, and why"
        return "What is undecided, and why" if words == {UNDECIDED} else "What does not hold or is undecided, and why"

    def groups(self) -> list[str]:
        """Return the group of every claim."""
        return [self.group(claim) for claim in self.verdicts]

    def counts(self) -> dict[str, int]:
        """Return the number of claims in each group; the two groups of claims that hold are always listed."""
        groups, always = self.groups(), (INDEPENDENT, USED_FOR_FITTING)
        return {group: groups.count(group) for group in GROUP_TEXTS if group in groups or group in always}

    def tally(self) -> str:
        """Return the number of claims in each group as one line of text."""
        return "; ".join(group_counts(self.groups()))

    def independent(self) -> list[str]:
        """Return the claims that hold on their own."""
        return [claim for claim in self.verdicts if self.group(claim) == INDEPENDENT]

    def resting(self) -> list[str]:
        """Return the claims that hold on their own and were checked with fitted settings."""
        return [claim for claim in self.independent() if CLAIMS[claim].rests_on]

    def resting_on(self, reading: str) -> list[str]:
        """Return the claims that rest on a fitted reading and were not used to choose it."""
        chosen_by = FITTED[reading].chosen_by
        return [id_ for id_, claim in CLAIMS.items() if reading in claim.rests_on and id_ not in chosen_by]

    def claims_of(self, figure: str) -> list[str]:
        """Return the claims that a figure shows."""
        return [claim for claim in self.verdicts if figure in CLAIMS[claim].figures]

    def agreement(self, claim: str) -> str:
        """Return the number of findings that agree, and the text of those that do not."""
        verdict = self.verdicts[claim]
        n_agree = sum(finding.ok is True for finding in verdict.findings)
        text = f"{n_agree} of {len(verdict.findings)} findings agree"
        return f"{text}; {verdict.reason}" if verdict.against else text

    def changed_values(self, reading: str) -> list[str]:
        """Return the changed assumptions of this page that belong to a reading, as text."""
        changed = self.paper_run.assumptions.changed
        return [f"{key} = {format_value(value)}" for key, value in changed.items() if KEYS[key].reading == reading]

    @property
    def has_explorations(self) -> bool:
        """Whether there are explorations to replay."""
        return (self.paper_run.folder / "results.zarr").is_dir()


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
