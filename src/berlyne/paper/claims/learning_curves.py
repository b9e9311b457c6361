"""Checks of the claims about learning curves (Figs. 3, 4, 6, 7, S3, S4 and S5)."""

from __future__ import annotations

import numpy as np

from berlyne.paper.claims.compare import MIN_WORLDS, Pair
from berlyne.paper.claims.evidence import Evidence
from berlyne.paper.claims.published import PUBLISHED_INDEX, D, M, O
from berlyne.paper.claims.verdict import Finding
from berlyne.worlds import title

SOON, CLOSE = 0.25, 0.05
"""Our criterion: a learned prior soon matches if the relative difference of curves is below `CLOSE` after `SOON`.

`SOON` is a fraction of the run.
"""
LITTLE = 0.5
"""Our criterion: the gap between PIG(VI) and PIG(VI+) is little below this fraction of the gain of PIG(VI)."""
EARLY, CAUGHT_UP = 0.1, 0.5
"""Our criterion: PEIG(Q) is behind at first, after `EARLY` of the run, and catches up late.

It catches up if its lag at the end is below the fraction `CAUGHT_UP` of its largest lag.
"""
Z99, Z999 = 2.576, 3.29
"""Our criteria: standard errors exceeded by chance once in a hundred and once in a thousand times."""


def controls(e: Evidence) -> tuple[Finding, ...]:
    """Compare Random with Unembodied."""
    return (
        Pair(M, "Random", "Unembodied", "fig3").worse(e),
        Pair(O, "Random", "Unembodied", "fig3").worse(e),
        Pair(D, "Random", "Unembodied", "fig3", alpha=0.01).indistinguishable(e),
    )


def embodied_greedy(e: Evidence) -> tuple[Finding, ...]:
    """Compare PIG(greedy) with Unembodied."""
    return (
        Pair(M, "PIG(greedy)", "Unembodied", "fig4").worse(e),
        Pair(O, "PIG(greedy)", "Unembodied", "fig4").worse(e),
        Pair(D, "PIG(greedy)", "Unembodied", "fig4").indistinguishable(e),
    )


def embodiment_index(e: Evidence) -> tuple[Finding, ...]:
    """Compare the average embodiment index with the published one, allowing for the sampling error of both."""
    return tuple(_index_finding(e, name, published) for name, published in PUBLISHED_INDEX.items())


def _index_finding(e: Evidence, name: str, published: float) -> Finding:
    mean, error = _average_index(e, name)
    deviation = abs(mean - published)
    # the published average of 200 worlds also has a sampling error, and is rounded to two digits
    z = max(deviation - 0.005, 0.0) / float(np.hypot(error, error * np.sqrt(e.n_worlds / 200)))
    ok = z < Z99 if e.n_worlds >= MIN_WORLDS or z >= Z99 else None
    measured = (
        f"{mean:.3f} with standard error {error:.3f}, {deviation / error:.1f} standard errors from the published "
        f"value, or {z:.1f} if rounding to two digits and the sampling error of the paper's own 200 worlds are taken "
        "into account"
    )
    return Finding(
        f"{title(name)}: embodiment index",
        f"average {published:g}",
        measured,
        ok,
        f"less than {Z99:g} standard errors away after this allowance",
        mean,
        mean - 1.96 * error,
        mean + 1.96 * error,
        "index",
    )


def _average_index(e: Evidence, name: str) -> tuple[float, float]:
    """Return the average index of a class and its standard error (reading R14)."""
    if e.index == "per world":
        index = e.embodiment_index(name)
        return float(index.mean()), float(index.std(ddof=1) / np.sqrt(len(index)))
    greedy, unembodied = e.areas[name]["PIG(greedy)"], e.areas[name]["Unembodied"]
    ratio = greedy.mean() / unembodied.mean()
    residual = (greedy - ratio * unembodied) / unembodied.mean()  # delta method for a ratio of two averages
    return float(ratio - 1.0), float(residual.std(ddof=1) / np.sqrt(len(residual)))


def greedy_random(e: Evidence) -> tuple[Finding, ...]:
    """Compare PIG(greedy) with Random."""
    return (
        Pair(D, "PIG(greedy)", "Random", "fig4").indistinguishable(e),
        Pair(M, "PIG(greedy)", "Random", "fig4").indistinguishable(e),
        Pair(O, "Random", "PIG(greedy)", "fig4").worse(e),
    )


def vi_gain(e: Evidence) -> tuple[Finding, ...]:
    """Check that PIG(VI) gains most over PIG(greedy) in Mazes, moderately in 1-2-3 Worlds, nothing in Dense Worlds."""
    gains = {name: 1.0 - e.areas[name]["PIG(VI)"] / e.areas[name]["PIG(greedy)"] for name in (D, M, O)}
    saved = {name: e.areas[name]["PIG(greedy)"] - e.areas[name]["PIG(VI)"] for name in (D, M, O)}
    unembodied = {name: e.areas[name]["Unembodied"] for name in (D, M, O)}
    scaled = {name: saved[name] / unembodied[name] for name in (D, M, O)}  # in units of the unembodied area
    gap = float(scaled[M].mean() - scaled[O].mean())
    error = float(np.hypot(*(scaled[n].std(ddof=1) / np.sqrt(len(scaled[n])) for n in (M, O))))
    z = gap / error if error else 0.0
    ok = True if z > Z999 else False if z < -Z999 or e.n_worlds >= MIN_WORLDS else None
    relative = ", ".join(f"{title(n)} {gains[n].mean():.1%}" for n in (M, O, D))
    units = " against ".join(f"{scaled[n].mean():.2f} ({title(n)})" for n in (M, O))
    most = Finding(
        "Area saved over PIG(greedy)",
        "most in Mazes, less in 1-2-3 Worlds",
        f"{units} in units of the unembodied area, {z:+.1f} standard errors; as a share of the greedy area: {relative}",
        ok,
        f"in units of the unembodied area, by more than {Z999:g} standard errors",
        gap,
        gap - 1.96 * error,
        gap + 1.96 * error,
        "unembodied area",
    )
    return (
        Pair(M, "PIG(greedy)", "PIG(VI)", "fig4", printed=False).worse(e),
        Pair(O, "PIG(greedy)", "PIG(VI)", "fig4", printed=False).worse(e),
        Pair(D, "PIG(greedy)", "PIG(VI)", "fig4", printed=False).indistinguishable(e),
        most,
    )


def vi_plus(e: Evidence) -> tuple[Finding, ...]:
    """Check how much planning with the true world adds."""
    areas = e.areas[M]
    gap = float((areas["PIG(VI)"] - areas["PIG(VI+)"]).mean())
    gains = {s: float((areas[s] - areas["PIG(VI)"]).mean()) for s in ("Random", "PIG(greedy)")}
    share = max(gap / gain if gain > 0 else np.inf for gain in gains.values())
    little = Finding(
        "Mazes: gap between PIG(VI) and PIG(VI+)",
        "little compared with the gain of PIG(VI) over Random and PIG(greedy)",
        f"{share:.0%} of the gain",
        bool(share < LITTLE),
        "we count less than half of the gain as little",
        share,
        unit="gain",
    )
    return (
        Pair(M, "PIG(VI)", "PIG(VI+)", "fig4", printed=False).worse(e),
        Pair(D, "PIG(VI)", "PIG(VI+)", "fig4", printed=False).indistinguishable(e),
        Pair(O, "PIG(VI)", "PIG(VI+)", "fig4", printed=False).indistinguishable(e),
        little,
    )


def lta(e: Evidence) -> tuple[Finding, ...]:
    """Compare LTA (least taken action) with Random."""
    return tuple(Pair(name, "LTA", "Random", "fig6").indistinguishable(e) for name in (D, M, O))


def cb(e: Evidence) -> tuple[Finding, ...]:
    """Compare CB (counter-based exploration) with Random and PIG(VI)."""
    return (
        Pair(D, "CB", "Random", "fig6").worse(e),
        Pair(O, "CB", "Random", "fig6").worse(e),
        Pair(M, "Random", "CB", "fig6", printed=False).worse(e),
        Pair(M, "CB", "PIG(VI)", "fig6").worse(e),
    )


def peig_q(e: Evidence) -> tuple[Finding, ...]:
    """Compare PEIG(Q) with Random: behind at first, catching up late."""
    return (
        Pair(D, "PEIG(Q)", "Random", "fig6").worse(e),
        Pair(O, "PEIG(Q)", "Random", "fig6").worse(e),
        Pair(M, "PEIG(Q)", "Random", "fig6").indistinguishable(e),
        *(_catching_up(e, name) for name in (D, M, O)),
    )


def _catching_up(e: Evidence, name: str) -> Finding:
    """Check that PEIG(Q) lags behind Random early in the run and catches up late."""
    lag = e.curves[name]["PEIG(Q)"] - e.curves[name]["Random"]
    early, last, largest = float(lag[int(EARLY * len(lag))]), float(lag[-1]), float(lag.max())
    ok = True if early > 0 and last < CAUGHT_UP * largest else False if e.n_worlds >= MIN_WORLDS else None
    return Finding(
        f"{title(name)}: PEIG(Q) minus Random",
        "behind at first, catches up late",
        f"{early:+.1f} bits after a tenth of the run, {largest:+.1f} at most, {last:+.1f} at the end",
        ok,
        "behind after a tenth of the run, and at the end behind by less than half of the largest lag",
        last / float(e.curves[name]["Random"][0]),
        unit="missing information",
    )


def best_of_previous(e: Evidence) -> tuple[Finding, ...]:
    """Compare PIG(VI) with strategies from the literature."""
    rivals = ("LTA", "CB", "PEIG(Q)")
    return tuple(Pair(name, rival, "PIG(VI)", "fig6", printed=False).worse(e) for name in (M, O) for rival in rivals)


def pig_q(e: Evidence) -> tuple[Finding, ...]:
    """Compare PIG(Q) with PEIG(Q) and PIG(VI)."""
    similar = tuple(Pair(name, "PIG(Q)", "PEIG(Q)", "figS3", printed=False).indistinguishable(e) for name in (D, M, O))
    return (*similar, *(Pair(name, "PIG(Q)", "PIG(VI)", "figS3", printed=False).worse(e) for name in (M, O)))


def peig_vi(e: Evidence) -> tuple[Finding, ...]:
    """Compare PEIG(VI) with PIG(VI)."""
    return Pair(M, "PEIG(VI)", "PIG(VI)", "figS3").indistinguishable(e), Pair(O, "PEIG(VI)", "PIG(VI)", "figS3").worse(
        e
    )


def utilities(e: Evidence) -> tuple[Finding, ...]:
    """Compare PMC(VI) and PLC(VI) with PIG(VI)."""
    against_pmc = tuple(Pair(name, "PMC(VI)", "PIG(VI)", "fig7").worse(e) for name in (D, M, O))
    return (*against_pmc, Pair(O, "PLC(VI)", "PIG(VI)", "fig7").worse(e))


def utilities_help(e: Evidence) -> tuple[Finding, ...]:
    """Compare Random with PMC(VI) and PLC(VI)."""
    planners = ("PMC(VI)", "PLC(VI)")
    return tuple(Pair(name, "Random", s, "fig7", printed=False).worse(e) for name in (M, O) for s in planners)


def l1(e: Evidence) -> tuple[Finding, ...]:
    """Compare PMC(VI) and PLC(VI) with PIG(VI) by L1 distance."""
    return tuple(Pair(O, s, "PIG(VI)", "figS4", printed=False, l1=True).worse(e) for s in ("PMC(VI)", "PLC(VI)"))


def learned_prior(e: Evidence) -> tuple[Finding, ...]:
    """Check that exploration with a learned concentration soon matches that with the true one, for all starts."""
    starts = e.stages["learned"]["start"].values
    return tuple(_matching(e, name, float(start)) for name in (D, M) for start in starts)


def _matching(e: Evidence, name: str, start: float) -> Finding:
    """Check the match in one class, for one starting value of the concentration."""
    stage = e.stages["learned"].sel(world_class=name)
    with_learned, with_true = (
        curve.mean("world").dropna("time").values for curve in (stage["learned"].sel(start=start), stage["given"])
    )
    difference = (with_learned - with_true) / with_true
    late = difference[int(SOON * len(difference)) :]
    at = {part: float(difference[int(part * (len(difference) - 1))]) for part in (0.05, 0.1, 0.25, 0.5, 1.0)}
    values = ", ".join(f"{100 * value:+.1f} % at {part:.0%}" for part, value in at.items())
    return Finding(
        f"{title(name)}: missing information with a concentration learned from a start of {start:g}, against the true "
        f"concentration {float(stage['true_alpha']):g}",
        "soon matches",
        f"{values} of the run",
        True if np.abs(late).max() < CLOSE else False if e.n_worlds >= MIN_WORLDS else None,
        f"differs by less than {CLOSE:.0%} at all times after {SOON:.0%} of the run",
        at[SOON],
        unit="missing information",
    )
