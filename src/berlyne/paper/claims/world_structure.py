"""Checks of the claims about the structure of worlds (Fig. 5)."""

from __future__ import annotations

from typing import Any

import numpy as np

from berlyne.paper.claims.compare import MIN_WORLDS, p_text
from berlyne.paper.claims.evidence import Evidence
from berlyne.paper.claims.published import ALPHA, D, M, O
from berlyne.paper.claims.verdict import Finding
from berlyne.worlds import title

STRONG = 0.7
"""Our criterion: a correlation above this is strong."""
FAR = 10
"""Our criterion: number of steps that is far into the future."""


def structure(e: Evidence) -> tuple[Finding, ...]:
    """Check the correlation of embodiment index and structure index over all worlds."""
    from scipy.stats import pearsonr, spearmanr

    index = e.stages["structure"]["structure_index"]
    pairs = {name: (index.sel(world_class=name).values, e.embodiment_index(name)) for name in (D, M, O)}
    x, y = (np.concatenate(parts) for parts in zip(*pairs.values(), strict=True))
    pearson = pearsonr(x, y)
    low, high = pearson.confidence_interval(0.95)
    rank = spearmanr(x, y)
    r, p = float(pearson.statistic), float(pearson.pvalue)
    within = ", ".join(f"{pearsonr(*pair).statistic:.2f} ({title(name)})" for name, pair in pairs.items())
    measured = (
        f"r = {r:.2f} [{low:.2f}, {high:.2f}] (p {p_text(p)}), rank correlation {rank.statistic:.2f}, {len(x)} worlds "
        f"of three classes, which form three clusters. Within each class, r = {within}"
    )
    ok = bool(r > STRONG) if e.n_worlds >= MIN_WORLDS or low > STRONG or high < STRONG else None
    about, ours = "Embodiment index against structure index, all classes", f"r > {STRONG:g} counts as strong"
    return (Finding(about, "strong correlation", measured, ok, ours, r, float(low), float(high), "r", p),)


def control_horizon(e: Evidence) -> tuple[Finding, ...]:
    """Check how much, and how long, an action influences later states."""
    controllability = e.stages["structure"]["controllability"]
    return (
        _more_influence(controllability, M, D, 1, "more influence in Mazes than in Dense Worlds"),
        _more_influence(controllability, O, D, 1, "more influence in 1-2-3 Worlds than in Dense Worlds"),
        _more_influence(controllability, M, O, FAR, "in Mazes far into the future"),
        _more_influence(controllability, M, D, FAR, "in Mazes far into the future"),
    )


def _more_influence(controllability: Any, first: str, second: str, lag: int, expected: str) -> Finding:
    """Check that an action has more influence after `lag` steps in the first class than in the second."""
    from scipy.stats import ttest_ind

    x, y = (controllability.sel(world_class=name, lag=lag).values for name in (first, second))
    test = ttest_ind(x, y, equal_var=False)
    gap, p = float(x.mean() - y.mean()), float(test.pvalue)
    low, high = (float(bound) for bound in test.confidence_interval(0.95))
    ok = True if gap > 0 and p < ALPHA else False if gap <= 0 or len(x) >= MIN_WORLDS else None
    measured = f"{x.mean():.4f} against {y.mean():.4f} bits (p {p_text(p)}, Welch's t-test)"
    about = f"Influence of an action {lag} step{'s' * (lag > 1)} later: {title(first)} against {title(second)}"
    ours = f"p < {ALPHA:g}; the paper shows a figure but no test"
    return Finding(about, expected, measured, ok, ours, gap, low, high, "bits", p)
