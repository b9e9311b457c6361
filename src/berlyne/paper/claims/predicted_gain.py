"""Checks of the claims about predicted information gain (Fig. 2)."""

from __future__ import annotations

import numpy as np

from berlyne.paper.claims.compare import MIN_WORLDS
from berlyne.paper.claims.evidence import Evidence
from berlyne.paper.claims.published import D, M, O
from berlyne.paper.claims.verdict import Finding
from berlyne.worlds import title

NEAR = 4.0
"""Our criterion: a point this many standard errors from the line is off it.

By chance, any of the sixty points is that far away once in 260 times.
"""


def pig_predicts(e: Evidence) -> tuple[Finding, ...]:
    """Check that average PIG equals average realised gain after 0 to 19 observations."""
    findings = []
    for name in (D, M, O):
        gains = e.stages["gains"].sel(world_class=name)
        pig, gain = gains["pig"].values, gains["gain"].values  # (world, n_obs)
        error = (gain - pig).std(axis=0, ddof=1) / np.sqrt(len(pig))
        z = (gain - pig).mean(axis=0) / np.where(error > 0, error, np.inf)
        slope = float(np.dot(pig.mean(axis=0), gain.mean(axis=0)) / np.dot(pig.mean(axis=0), pig.mean(axis=0)))
        worst = float(np.abs(z).max())
        measured = f"slope {slope:.4f}; the farthest of {len(z)} points lies {worst:.1f} standard errors from the line"
        ok = bool(worst < NEAR)
        about, ours = f"{title(name)}: realised against predicted gain", f"every point within {NEAR:g} standard errors"
        findings.append(Finding(about, "on the unity line", measured, ok, ours, slope, unit="slope"))
    return tuple(findings)


def pig_falls(e: Evidence) -> tuple[Finding, ...]:
    """Check that average PIG falls with every observation."""
    findings = []
    for name in (D, M, O):
        mean = e.stages["gains"].sel(world_class=name)["pig"].values.mean(axis=0)
        steps = np.diff(mean)
        rises = int(np.sum(steps >= 0))
        measured = f"from {mean[0]:.3f} to {mean[-1]:.4f} bits, rising at {rises} of {len(steps)} observations"
        ok = True if rises == 0 else False if e.n_worlds >= MIN_WORLDS else None
        findings.append(Finding(f"{title(name)}: average PIG", "falls with every observation", measured, ok))
    return tuple(findings)
