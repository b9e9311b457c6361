"""What becomes of the claims where a reading is read the other way: verdicts that flip, and effects that move."""

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
    """The section."""
    asked = [id_ for id_ in context.verdicts if context.is_reevaluated(id_)]
    left = [id_ for id_ in context.verdicts if id_ not in asked]
    parts = [_variant(context, variant) for variant in VARIANTS if variant.id in context.cells]
    return section(
        "sensitivity",
        "Sensitivity",
        paragraph(
            f"Where the paper leaves a choice, {len(asked)} claims were asked again with another choice, in the same "
            f"{context.paper_run.n_worlds} worlds of each class. Each entry is what the command in it gives, with the "
            "number of worlds and the seed of this page. A verdict may stay while an effect moves far, and flip while "
            "none moves: so every entry says which difference of areas moved most, or of ranks in tasks if no area "
            "did, and unfolds to all claims. A flip is <b>by an effect</b> if the effect "
            "leaves its 95 % confidence interval as read, or has none; <b>by a hair</b> if it moves within; and <b>by "
            "company</b> if it is the same to the digit. Then what was read otherwise is not about the pair that is "
            "compared: p-values compare mean ranks, and these depend on all strategies in the test (R16)."
        ),
        paragraph(
            f"Not asked again: {join_html(map(claim_link, left))}. They have computations of their own, which some of "
            "these choices would touch, too."
        )
        if left
        else "",
        "".join(parts),
    )


def _variant(context: PageContext, variant: Variant) -> str:
    cells = context.cells[variant.id]
    flipped = {id_: cell for id_, cell in cells.items() if cell.flip}
    again = command(context.paper_run.assumptions.replace(variant.changes).changed)
    said = (
        f"<div><h3>{escape(variant.text)}</h3><p>{reading_link(variant.reading)} <code>{escape(again)}</code></p></div>"
    )
    head, most = f"<b>{count_flips(flipped.values())}</b>", largest_change_html(cells)
    if context.paper_run.assumptions.replace(variant.changes) == context.paper_run.assumptions:
        head, most = "<b>this is what the page assumes</b>", ""
    lines = [*flip_lines(flipped), *changed_finding_lines(cells)]
    said_of = f"<p>{head}</p>{bullets(lines)}<p>{most}</p>" if lines else f"<p>{head}. {most}</p>"
    found = f"<div>{said_of}</div>"
    if not variant.tasks:
        found = (
            found.removesuffix("</div>") + "<p>Tasks were not set again, so claims about them were not asked.</p></div>"
        )
    every = details("All claims" if variant.tasks else "All claims that were asked", cell_table(cells))
    return f'<div class="variant" id="variant-{variant.id}">{said}{found}{every}</div>'


def count_flips(flipped: Iterable[Cell]) -> str:
    """How many verdicts flip, and how."""
    how = [cell.flip for cell in flipped]
    if not how:
        return "no verdict flips"
    told = [f"{how.count(kind)} {text_html}" for kind, (_, text_html) in FLIPS.items() if kind in how]
    return f"{len(how)} verdict{'s' * (len(how) > 1)} flip{'s' * (len(how) == 1)}: {', '.join(told)}"


def flip_lines(flipped: Mapping[str, Cell]) -> list[str]:
    """Every verdict that flips, with the findings that make it, before and after."""
    return [
        f'<span class="flip {cell.flip}">{FLIPS[cell.flip][0]}&nbsp;{claim_link(id_)}</span> '
        f"{verdict_change_html(cell)}: {'; '.join(change_html(change) for change in flipped_findings(cell)) or 'its findings are others'}"
        for id_, cell in flipped.items()
    ]


def changed_finding_lines(cells: Mapping[str, Cell]) -> list[str]:
    """Findings that are judged otherwise though the verdict on their claim stays."""
    return [
        f"{claim_link(id_)} stays {verdict_html(cell.after.word)}, but judged otherwise: "
        f"{'; '.join(change_html(change) for change in flipped_findings(cell))}"
        for id_, cell in cells.items()
        if not cell.flip and flipped_findings(cell)
    ]


def verdict_change_html(cell: Cell) -> str:
    """The verdict before and after; one word if it is the same."""
    if cell.before.word == cell.after.word:
        return verdict_html(cell.after.word)
    return f"{verdict_html(cell.before.word)} → {verdict_html(cell.after.word)}"


def flipped_findings(cell: Cell) -> list[Change]:
    """The findings that are judged otherwise."""
    return [change for change in cell.changes if change.flip]


def moved(cell: Cell) -> list[Change]:
    """The findings whose effect or p-value, as it is written, is another."""
    return [change for change in cell.changes if effect_text(change.before) != effect_text(change.after)]


def change_html(change: Change) -> str:
    """One finding, before and after."""
    if change.before.about == change.after.about:
        return text_html(change.text)
    return text_html(
        " → ".join(f"{finding.about}: {effect_text(finding)}" for finding in (change.before, change.after))
    )


def largest_change_html(cells: Mapping[str, Cell]) -> str:
    """What moves most: of the differences of areas, or, if no area moves, of the differences of ranks in tasks."""
    for unit in ("area", "ranks"):
        here = [
            (abs(change.effect_change), id_, change)
            for id_, cell in cells.items()
            for change in moved(cell)
            if change.before.unit == unit and change.effect_change
        ]
        if here:
            _, id_, change = max(here, key=lambda found: found[0])
            return f"Moved most: {change_html(change)} ({claim_link(id_)})."
    return "No area and no rank moves."


def cell_table(cells: Mapping[str, Cell]) -> str:
    """Every claim that was asked, with every finding that moved."""
    rows = [(claim_link(id_), verdict_change_html(cell), moved_findings_html(cell)) for id_, cell in cells.items()]
    return table("Every claim that was asked again", ("claim", "verdict", "what moved, before → after"), rows)


def moved_findings_html(cell: Cell) -> str:
    """Every finding that moved, and how many did not."""
    found = moved(cell)
    still = len(cell.changes) - len(found)
    lines = [f"<b>{change_html(change)}</b>" if change.flip else change_html(change) for change in found]
    if not found:
        return "nothing"
    return bullets([*lines, f"{still} of {len(cell.changes)} findings as before"] if still else lines)
