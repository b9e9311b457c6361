"""Write the tables of `docs/explanation/what-people-seek.md`, and draw its picture, from the scores in this directory.

    python docs/people/make.py

`scores.csv` has a line for each analysis (variant), held-out part and model, and the held-out log-likelihood of each
person in nats. `settings.csv` has the best settings and weights for all people together. `benchmarks/behaviour.py`
writes both files. The data are not part of berlyne; the page tells where to get them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

HERE = Path(__file__).parent
PAGE = HERE.parent / "explanation" / "what-people-seek.md"
KEYS = ["variant", "held_out", "model"]
DRIVES = ("count_bonus", "rarity", "surprise", "PMC", "parameter_gain", "PIG", "PLC")
PAIRS = [
    ("rarity(VI)", "PIG(VI)"),
    ("rarity(VI)", "parameter_gain(VI)"),
    ("rarity(VI)", "count_bonus(VI)"),
    ("rarity(VI)", "surprise(VI)"),
    ("rarity(VI) + PIG(VI)", "rarity(VI)"),
    ("rarity(VI) + PIG(VI)", "PIG(VI)"),
    ("rarity(greedy)", "PIG(greedy)"),
]
VARIANTS = (
    "main",
    "no habit",
    "plans stop at ends",
    "episode 1",
    "episodes 2 to 5",
    "61 known states, alpha 0.016",
    "61 known states, alpha 0.1",
    "61 known states, alpha 0.3",
    "other folds 1",
    "other folds 2",
)


def read_scores() -> pd.DataFrame:
    """Return the scores, with a column for each person."""
    return pd.read_csv(HERE / "scores.csv").set_index(KEYS)


def difference(scores: pd.DataFrame, variant: str, held_out: str, first: str, second: str) -> Any:
    """Return the difference of two models for each person, in nats; None if one was not computed."""
    keys = [(variant, held_out, name) for name in (first, second)]
    if any(key not in scores.index for key in keys):
        return None
    return (scores.loc[keys[0]] - scores.loc[keys[1]]).to_numpy(float)


def summary(d: Any) -> str:
    """Return the sum with its standard error, and the numbers of people for and against."""
    if d is None:
        return ""
    return f"{d.sum():+.0f} ± {np.sqrt(len(d)) * d.std(ddof=1):.0f} ({(d > 0).sum()}:{(d < 0).sum()})"


def table(header: list[str], lines: list[list[str]]) -> str:
    """Return a table in Markdown."""
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def drives_table(scores: pd.DataFrame) -> str:
    """Return the table of held-out nats of each drive above nuisance."""
    names = ["CB", *(f"{drive}({method})" for method in ("VI", "greedy") for drive in DRIVES)]
    names += ["rarity(VI) + PIG(VI)", "rarity(greedy) + PIG(greedy)"]
    parts = [("main", "people"), ("main", "blocks"), ("no habit", "people"), ("no habit", "blocks")]
    lines = [[name, *(summary(difference(scores, *part, name, "nuisance")) for part in parts)] for name in names]
    header = ["drive", "people", "blocks", "people, no habit", "blocks, no habit"]
    return table(header, lines)


def pairs_table(scores: pd.DataFrame) -> str:
    """Return the table of paired differences between drives."""
    parts = [("main", "people"), ("main", "blocks"), ("no habit", "people"), ("no habit", "blocks")]
    lines = [
        [f"{first} - {second}", *(summary(difference(scores, *part, first, second)) for part in parts)]
        for first, second in PAIRS
    ]
    return table(["difference", "people", "blocks", "people, no habit", "blocks, no habit"], lines)


def variants_table(scores: pd.DataFrame) -> str:
    """Return the table of the main drives under other choices of the analysis, held-out people."""
    lines = []
    for variant in VARIANTS:
        stop = variant == "plans stop at ends"
        rarity, gain, pig = (
            f"{name}(VI, after_end=stop)" if stop else f"{name}(VI)" for name in ("rarity", "parameter_gain", "PIG")
        )
        d = [difference(scores, variant, "people", name, "nuisance") for name in (rarity, gain, pig)]
        pair = difference(scores, variant, "people", rarity, pig)
        lines.append([variant, *map(summary, d), summary(pair), f"{np.median(pair):+.1f}"])
    header = ["analysis", "rarity(VI)", "parameter_gain(VI)", "PIG(VI)", "rarity - PIG", "median person"]
    return table(header, lines)


def settings_table() -> str:
    """Return the best settings and the weight of each drive for all people together."""
    best, lines = pd.read_csv(HERE / "settings.csv").set_index("model"), []
    for name in ["CB", *(f"{drive}(VI)" for drive in DRIVES)]:
        row = best.loc[name]
        gamma = row.get(f"{name}: gamma", np.nan)
        gamma_text = "" if np.isnan(gamma) else f"{gamma:g}"
        gain = row["nats"] - best.loc["nuisance", "nats"]
        lines.append(
            [name, f"{row[f'{name}: c']:.2g}", gamma_text, f"{row[name]:.2f}", f"{row['habit']:.2f}", f"{gain:+.0f}"]
        )
    return table(["drive", "c", "gamma", "weight", "weight of habit", "nats above nuisance, not held out"], lines)


TABLES = {"drives": drives_table, "pairs": pairs_table, "variants": variants_table}


def with_tables(text: str) -> str:
    """Return the text of the page with the tables of the scores between their marks."""
    scores = read_scores()
    made = {**{name: make(scores) for name, make in TABLES.items()}, "settings": settings_table()}
    for name, lines in made.items():
        mark = re.compile(rf"(<!-- table {name} -->\n\n).*?(\n\n<!-- end -->)", re.DOTALL)
        if not mark.search(text):
            raise ValueError(f"{PAGE.name} has no marks of the table {name}")
        text = mark.sub(lambda match, lines=lines: match[1] + lines + match[2], text)  # type: ignore[misc]  # its type is not inferred
    return text


def draw(scores: pd.DataFrame) -> Any:
    """Draw held-out nats of each drive with intervals, and the difference of rarity and PIG for each person."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.4, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.25, 1))
    drives = sorted(DRIVES, key=lambda name: difference(scores, "main", "people", f"{name}(VI)", "nuisance").sum())
    names = ["CB", *drives, "rarity + PIG"]
    styles = {"VI": ("o", "black", 0.16), "greedy": ("o", "white", -0.16)}
    for method, (marker, face, shift) in styles.items():
        for i, name in enumerate(names):
            if name == "CB" and method == "greedy":
                continue
            model = {"CB": "CB", "rarity + PIG": f"rarity({method}) + PIG({method})"}.get(name, f"{name}({method})")
            d = difference(scores, "main", "people", model, "nuisance")
            se = 1.96 * np.sqrt(len(d)) * d.std(ddof=1)
            line, label = i + shift, ("with planning (VI)" if method == "VI" else "greedy") if i == 1 else None
            left.errorbar(d.sum(), line, xerr=se, fmt=marker, color="black", mfc=face, ms=6, lw=1.2, label=label)
    left.axvline(0, color="0.6", lw=1)
    left.set_yticks(range(len(names)), names)
    left.set_xlabel("held-out nats above nuisance, 57 people (95 % interval)")
    left.legend(frameon=False, loc="lower right")
    d = np.sort(difference(scores, "main", "people", "rarity(VI)", "PIG(VI)"))
    right.bar(range(1, len(d) + 1), d, width=0.85, color=np.where(d > 0, "#0072B2", "#E69F00"))
    right.axhline(0, color="0.3", lw=1)
    right.set_xlabel("people, sorted")
    right.set_ylabel("nats: rarity(VI) - PIG(VI)")
    right.text(
        0.04, 0.94, f"{(d > 0).sum()} people for rarity, {(d < 0).sum()} for PIG", transform=right.transAxes, va="top"
    )
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def main() -> None:
    """Write the tables and the picture."""
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    draw(read_scores()).savefig(HERE / "drives.png", dpi=130)


if __name__ == "__main__":
    main()
