"""Claims about the structure of worlds: Fig. 5."""

from __future__ import annotations

import numpy as np

from berlyne.claims.compare import ENOUGH
from berlyne.claims.evidence import Evidence
from berlyne.claims.published import D, M, O
from berlyne.claims.verdict import Finding
from berlyne.worlds import title

STRONG = 0.7
"""A correlation above this counts as strong."""


def structure(e: Evidence) -> tuple[Finding, ...]:
    """The embodiment index against the structure index, over all worlds."""
    from scipy.stats import pearsonr, spearmanr

    index = e.stages["structure"]["structure_index"]
    x = np.concatenate([index.sel(world_class=name).values for name in (D, M, O)])
    y = np.concatenate([e.embodiment_index(name) for name in (D, M, O)])
    pearson = pearsonr(x, y)
    low, high = pearson.confidence_interval(0.95)
    rank = spearmanr(x, y)
    r, p = float(pearson.statistic), float(pearson.pvalue)
    measured = (
        f"r = {r:.2f} [{low:.2f}, {high:.2f}], rank correlation {rank.statistic:.2f}, p = {p:.2g}, {len(x)} worlds"
    )
    ok = bool(r > STRONG) if e.n_worlds >= ENOUGH or low > STRONG or high < STRONG else None
    about = "Embodiment index against structure index, all classes"
    return (Finding(about, f"strong correlation (r > {STRONG:g})", measured, ok, r, float(low), float(high), p),)


def control_horizon(e: Evidence) -> tuple[Finding, ...]:
    """How long an action is felt."""
    reach = e.stages["structure"]["controllability"]
    return (
        _more(reach, M, D, 1, "more influence in Mazes than in Dense Worlds"),
        _more(reach, O, D, 1, "more influence in 1-2-3 Worlds than in Dense Worlds"),
        _more(reach, M, O, 10, "in Mazes far into the future"),
        _more(reach, M, D, 10, "in Mazes far into the future"),
    )


def _more(reach: object, one: str, other: str, lag: int, expected: str) -> Finding:
    from scipy.stats import ttest_ind

    x, y = (reach.sel(world_class=name, lag=lag).values for name in (one, other))  # type: ignore[attr-defined]
    test = ttest_ind(x, y, equal_var=False)
    gap, p = float(x.mean() - y.mean()), float(test.pvalue)
    low, high = (float(bound) for bound in test.confidence_interval(0.95))
    ok = True if gap > 0 and p < 0.001 else False if gap <= 0 or len(x) >= ENOUGH else None
    measured = f"{x.mean():.4f} against {y.mean():.4f} bits, p = {p:.2g}"
    about = f"Influence of an action {lag} step{'s' * (lag > 1)} later: {title(one)} against {title(other)}"
    return Finding(about, expected, measured, ok, gap, low, high, p)
