"""Claims under variants of the readings: verdicts that flip, and effects that change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

from berlyne.paper.reproduction.page.context import PageContext, command
from berlyne.paper.reproduction.page.html import (
    bullets,
    claim_link,
    details,
    join_html,
    paragraph,
    reading_link,
    section,
    table,
    text_html,
    verdict_html,
)
from berlyne.paper.reproduction.robustness import FLIPS, Cell, Change, effect_text
from berlyne.paper.reproduction.variants import VARIANTS, Variant


def sensitivity(context: PageContext) -> str:
    """Render the section."""
    checked = [id_ for id_ in context.verdicts if context.is_reevaluated(id_)]
    not_checked = [id_ for id_ in context.verdicts if id_ not in checked]
    entries = [_variant(context, variant) for variant in VARIANTS if variant.id in context.cells]
    return section(
        "sensitivity",
        "Sensitivity",
        paragraph(
            f"The paper leaves some choices open. We checked {len(checked)} claims again with other choices "
            f"(variants), in the same {context.paper_run.n_worlds} worlds of each class. Each entry has the results of "
            "the command that it shows, with the number of worlds and the seed of this page. A verdict can stay the "
            "same although an effect changes much, and it can flip although no effect changes. So every entry shows "
            "the largest change. This is the change of a difference of areas or, if no area changes, of a rank in a "
            "task. Open an entry to see all claims."
        ),
        paragraph(
            "There are three kinds of flips. A verdict flips <b>because the effect changes</b> if the effect leaves "
            "the 95 % confidence interval that it has with the readings of this page, or has no interval. It flips "
            "<b>marginally</b> if the effect moves within the interval. It flips <b>because of other strategies in the "
            "test</b> if the effect is exactly the same. Then the variant does not concern the two strategies that are "
            "compared. But p-values compare mean ranks, which depend on all strategies in the test (R16)."
        ),
        paragraph(
            f"Not checked again: {join_html(map(claim_link, not_checked))}. They use separate computations, which some "
            "of these choices would also affect."
        )
        if not_checked
        else "",
        "".join(entries),
    )


def _variant(context: PageContext, variant: Variant) -> str:
    cells = context.cells[variant.id]
    flipped = {id_: cell for id_, cell in cells.items() if cell.flip}
    assumptions = context.paper_run.assumptions.replace(variant.changes)
    title = (
        f"<div><h3>{escape(variant.text)}</h3><p>{reading_link(variant.reading)} "
        f"<code>{escape(command(assumptions.changed))}</code></p></div>"
    )
    count, largest = f"<b>{count_flips(flipped.values())}</b>", largest_change_html(cells)
    if assumptions == context.paper_run.assumptions:
        count, largest = "<b>this page assumes this variant</b>", ""
    lines = [*flip_lines(flipped), *changed_finding_lines(cells)]
    results = f"<p>{count}</p>{bullets(lines)}<p>{largest}</p>" if lines else f"<p>{count}. {largest}</p>"
    if not variant.tasks:
        results += "<p>Tasks were not recomputed, so claims about them were not checked again.</p>"
    all_claims = details("All claims" if variant.tasks else "All claims that were checked again", cell_table(cells))
    return f'<div class="variant" id="variant-{variant.id}">{title}<div>{results}</div>{all_claims}</div>'


def count_flips(flipped: Iterable[Cell]) -> str:
    """Return the number of verdicts that flip, by kind, as text."""
    kinds = [cell.flip for cell in flipped]
    if not kinds:
        return "no verdict flips"
    counts = [f"{kinds.count(kind)} {reason}" for kind, (_, reason) in FLIPS.items() if kind in kinds]
    return f"{len(kinds)} verdict{'s' * (len(kinds) > 1)} flip{'s' * (len(kinds) == 1)}: {', '.join(counts)}"


def flip_lines(flipped: Mapping[str, Cell]) -> list[str]:
    """Return one line for each verdict that flips, with the findings that cause it, before and after."""
    return [
        f'<span class="flip {cell.flip}">{FLIPS[cell.flip][0]}&nbsp;{claim_link(id_)}</span> '
        f"{verdict_change_html(cell)}: {_flipped_html(cell) or 'the claim has other findings'}"
        for id_, cell in flipped.items()
    ]


def changed_finding_lines(cells: Mapping[str, Cell]) -> list[str]:
    """Return one line for each claim whose verdict stays the same although some of its findings flip."""
    return [
        f"{claim_link(id_)} stays {verdict_html(cell.after.word)}, but "
        f"{'a finding flips' if len(flipped_findings(cell)) == 1 else 'findings flip'}: {_flipped_html(cell)}"
        for id_, cell in cells.items()
        if not cell.flip and flipped_findings(cell)
    ]


def verdict_change_html(cell: Cell) -> str:
    """Return the verdicts before and after, or one verdict if they are the same."""
    if cell.before.word == cell.after.word:
        return verdict_html(cell.after.word)
    return f"{verdict_html(cell.before.word)} → {verdict_html(cell.after.word)}"


def flipped_findings(cell: Cell) -> list[Change]:
    """Return the findings that agree with the paper in one case only."""
    return [change for change in cell.changes if change.flip]


def _flipped_html(cell: Cell) -> str:
    return "; ".join(change_html(change) for change in flipped_findings(cell))


def changed_findings(cell: Cell) -> list[Change]:
    """Return the findings whose effect or p-value changes in its printed digits."""
    return [change for change in cell.changes if effect_text(change.before) != effect_text(change.after)]


def change_html(change: Change) -> str:
    """Return one finding before and after."""
    if change.before.about == change.after.about:
        return text_html(change.text)
    return text_html(
        " → ".join(f"{finding.about}: {effect_text(finding)}" for finding in (change.before, change.after))
    )


def largest_change_html(cells: Mapping[str, Cell]) -> str:
    """Return the largest change of a difference of areas or, if no area changes, of ranks in tasks."""
    for unit in ("area", "ranks"):
        changes = [
            (abs(change.effect_change), id_, change)
            for id_, cell in cells.items()
            for change in changed_findings(cell)
            if change.before.unit == unit and change.effect_change
        ]
        if changes:
            _, id_, change = max(changes, key=lambda item: item[0])
            return f"Largest change: {change_html(change)} ({claim_link(id_)})."
    return "No area and no rank changes."


def cell_table(cells: Mapping[str, Cell]) -> str:
    """Return a table of all claims that were checked again, with every finding that changed."""
    rows = [(claim_link(id_), verdict_change_html(cell), moved_findings_html(cell)) for id_, cell in cells.items()]
    return table("Every claim that was checked again", ("claim", "verdict", "changes, before → after"), rows)


def moved_findings_html(cell: Cell) -> str:
    """Return every finding that changed, and the number of findings that did not."""
    changed = changed_findings(cell)
    n_unchanged = len(cell.changes) - len(changed)
    lines = [f"<b>{change_html(change)}</b>" if change.flip else change_html(change) for change in changed]
    if not changed:
        return "none"
    unchanged = [f"{n_unchanged} of {len(cell.changes)} findings unchanged"] if n_unchanged else []
    return bullets([*lines, *unchanged])
