"""Verdicts under variants of the readings, and why they change.

A verdict can flip because a strategy behaves differently, or only because p moves from just below a level to just above
it. To distinguish these cases, the effect of every finding is compared with its effect without the variant.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from berlyne.paper.claims import CLAIMS, Evidence, Finding, Verdict
from berlyne.paper.claims.compare import p_text
from berlyne.paper.reproduction.evidence import gather_evidence, verdicts_of
from berlyne.paper.reproduction.variants import VARIANTS, WITH_CURVES, Variant, needed_runs
from berlyne.worlds import PAPER_WORLDS

if TYPE_CHECKING:
    import xarray as xr

    from berlyne.paper.reproduction.paper_run import PaperRun

REEVALUATED = tuple(
    id_ for id_, claim in CLAIMS.items() if claim.needs and set(claim.needs) <= {"explorations", "tasks", "structure"}
)
"""Claims that are checked again under variants: those that use only explorations, tasks or the structure of worlds."""
AS_READ = "as read"
"""Label of the readings of the reproduction, beside the variants."""
RANK = 0.1
"""Weight of one rank compared with a share of the area: ten ranks count as much as the whole area."""
EFFECT, MARGINAL, POOL_ONLY = "effect", "marginal", "pool"
"""Why a verdict flips.

EFFECT: an effect leaves its 95 % interval, or has no interval. MARGINAL: the effect moves within the interval.
POOL_ONLY: the effect is exactly the same, and only other strategies in the test changed.
"""
FLIPS = {
    EFFECT: ("⇄", "because the effect changes"),
    MARGINAL: ("≈", "marginally"),
    POOL_ONLY: ("≡", "because of other strategies in the test"),
}
"""Sign and text of each kind of flip, the most important first."""


@dataclass(frozen=True)
class Change:
    """One finding of a claim, with the readings of the reproduction (`before`) and under a variant (`after`)."""

    before: Finding
    after: Finding

    @property
    def effect_change(self) -> float:
        """Change of the effect, in its unit; 0 if there is no effect."""
        if self.before.effect is None or self.after.effect is None:
            return 0.0
        return self.after.effect - self.before.effect

    @property
    def size(self) -> float:
        """Size of the change, at least 0; 1 is the whole area or ten ranks."""
        return abs(self.effect_change) * (RANK if self.before.unit == "ranks" else 1.0)

    @property
    def flip(self) -> str:
        """EFFECT, MARGINAL or POOL_ONLY if the finding agrees in one case only; empty otherwise."""
        if self.before.ok == self.after.ok:
            return ""
        low, high, effect = self.before.low, self.before.high, self.after.effect
        inside = low is not None and high is not None and effect is not None and low <= effect <= high
        if not inside:
            return EFFECT
        return POOL_ONLY if effect == self.before.effect else MARGINAL

    @property
    def text(self) -> str:
        """Effect before and after, as text."""
        return f"{self.before.about}: {effect_text(self.before)} → {effect_text(self.after)}"


@dataclass(frozen=True)
class Cell:
    """Verdicts on one claim, with the readings of the reproduction (`before`) and under a variant (`after`)."""

    before: Verdict
    after: Verdict

    @property
    def changes(self) -> tuple[Change, ...]:
        """Every finding before and after."""
        return tuple(Change(*pair) for pair in zip(self.before.findings, self.after.findings, strict=True))

    @property
    def largest(self) -> Change:
        """Finding with the largest change of its effect."""
        return max(self.changes, key=lambda change: change.size)

    @property
    def size(self) -> float:
        """Size of the largest change, at least 0; 1 is the whole area or ten ranks."""
        return self.largest.size

    @property
    def flip(self) -> str:
        """Most important kind of flip of its findings; empty if the verdict is the same."""
        if self.before.word == self.after.word:
            return ""
        kinds = {change.flip for change in self.changes}
        return next((kind for kind in FLIPS if kind in kinds), MARGINAL)


def variant_evidence(paper_run: PaperRun, variant: Variant) -> Evidence:
    """Return the evidence under a variant: stored numbers, replaced where the variant changes them."""
    base, changed_run = gather_evidence(paper_run), paper_run.replace(variant.changes)
    results = base.stages["sensitivity"].sel(variant=variant.id)
    areas, l1_areas, curves = (
        {c: dict(by_strategy) for c, by_strategy in by_class.items()}
        for by_class in (base.areas, base.l1_areas, base.curves)
    )
    for world_class in PAPER_WORLDS:
        for name in needed_runs(paper_run.assumptions, changed_run.assumptions, world_class).explore:
            new = results.sel(world_class=world_class, strategy=name)
            areas[world_class][name], l1_areas[world_class][name] = new["area"].values, new["l1_area"].values
            if name in WITH_CURVES:
                curves[world_class][name] = new["curve"].values[: changed_run.assumptions.n_steps(world_class) + 1]
    stages = {name: _overlay(base.stages[name], results) for name in ("tasks", "structure")}
    return Evidence(areas, l1_areas, curves, stages, **changed_run.assumptions.judging_options)


def _overlay(stage: xr.Dataset, results: xr.Dataset) -> xr.Dataset:
    """Return a stage with its numbers replaced by those of a variant that are not NaN."""
    new = {
        name: results[name].transpose(*values.dims).assign_coords(values.coords)
        for name, values in stage.data_vars.items()
        if name in results
    }
    return stage.assign({name: values.where(values.notnull(), stage[name]) for name, values in new.items()})


@lru_cache(maxsize=1)
def cells(paper_run: PaperRun) -> dict[str, dict[str, Cell]]:
    """Check claims again under all variants; `cells[variant][claim]` has both verdicts."""
    table, verdicts = {}, verdicts_of(paper_run)
    for variant in VARIANTS:
        evidence = variant_evidence(paper_run, variant)
        checked = [id_ for id_ in REEVALUATED if variant.tasks or "tasks" not in CLAIMS[id_].needs]
        table[variant.id] = {id_: Cell(verdicts[id_], CLAIMS[id_].verdict(evidence)) for id_ in checked}
    return table


def effect_text(finding: Finding) -> str:
    """Return an effect in its unit as text, with the p-value that decides, if there is one."""
    if finding.effect is None:
        return finding.measured
    size = (
        f"{100 * finding.effect:+.1f} %" if finding.unit in SHARES else f"{finding.effect:+.2f} {finding.unit}".strip()
    )
    return size if finding.p is None else f"{size} (p {p_text(finding.p)})"


SHARES = ("area", "gain", "missing information")
"""Units of effects that are shares, printed in per cent."""
