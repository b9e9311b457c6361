"""Claims about learning curves: Figs. 3, 4, 6, 7, S3, S4 and S5."""

from __future__ import annotations

import numpy as np

from berlyne.paper.claims.compare import MIN_WORLDS, Pair
from berlyne.paper.claims.evidence import Evidence
from berlyne.paper.claims.published import PUBLISHED_INDEX, D, M, O
from berlyne.paper.claims.verdict import Finding
from berlyne.worlds import title

SOON, CLOSE = 0.25, 0.05
"""Ours: a learned prior matches soon if, from this part of the run on, curves differ by less than this fraction."""
LITTLE = 0.5
"""Ours: what PIG(VI) lacks of PIG(VI+) is little if it is less than this fraction of what PIG(VI) gains."""
EARLY, CAUGHT_UP = 0.1, 0.5
"""Ours: PEIG(Q) is behind at first if it is so after this part of the run, and catches up late if at the end it is
behind by less than this fraction of the most it ever was."""
Z99, VERY_SURE = 2.576, 3.29
"""Ours: standard errors that are exceeded by chance once in a hundred and once in a thousand times."""


def controls(e: Evidence) -> tuple[Finding, ...]:
    """Random against Unembodied."""
    return (
        Pair(M, "Random", "Unembodied", "fig3").worse(e),
        Pair(O, "Random", "Unembodied", "fig3").worse(e),
        Pair(D, "Random", "Unembodied", "fig3", alpha=0.01).indistinguishable(e),
    )


def embodied_greedy(e: Evidence) -> tuple[Finding, ...]:
    """PIG(greedy) against Unembodied."""
    return (
        Pair(M, "PIG(greedy)", "Unembodied", "fig4").worse(e),
        Pair(O, "PIG(greedy)", "Unembodied", "fig4").worse(e),
        Pair(D, "PIG(greedy)", "Unembodied", "fig4").indistinguishable(e),
    )


def embodiment_index(e: Evidence) -> tuple[Finding, ...]:
    """The published averages, within the sampling error of both."""
    return tuple(_index_finding(e, name, published) for name, published in PUBLISHED_INDEX.items())


def _index_finding(e: Evidence, name: str, published: float) -> Finding:
    mean, error = _average_index(e, name)
    off = abs(mean - published)
    # the published average of 200 worlds has an error of its own, and is rounded to two digits
    allowing = max(off - 0.005, 0.0) / float(np.hypot(error, error * np.sqrt(e.n_worlds / 200)))
    ok = allowing < Z99 if e.n_worlds >= MIN_WORLDS or allowing >= Z99 else None
    measured = (
        f"{mean:.3f} with standard error {error:.3f}, {off / error:.1f} standard errors from the published value. "
        f"Allowing for the two digits printed and for the sampling error of the paper's own 200 worlds: {allowing:.1f}"
    )
    return Finding(
        f"{title(name)}: embodiment index",
        f"average {published:g}",
        measured,
        ok,
        f"less than {Z99:g} standard errors away, with that allowance",
        mean,
        mean - 1.96 * error,
        mean + 1.96 * error,
        "index",
    )


def _average_index(e: Evidence, name: str) -> tuple[float, float]:
    """The average index of a class, and its standard error (reading R14)."""
    if e.index == "per world":
        index = e.embodiment_index(name)
        return float(index.mean()), float(index.std(ddof=1) / np.sqrt(len(index)))
    greedy, free = e.areas[name]["PIG(greedy)"], e.areas[name]["Unembodied"]
    ratio = greedy.mean() / free.mean()
    residual = (greedy - ratio * free) / free.mean()  # of the ratio of two averages, by the delta method
    return float(ratio - 1.0), float(residual.std(ddof=1) / np.sqrt(len(residual)))


def greedy_random(e: Evidence) -> tuple[Finding, ...]:
    """PIG(greedy) against Random."""
    return (
        Pair(D, "PIG(greedy)", "Random", "fig4").indistinguishable(e),
        Pair(M, "PIG(greedy)", "Random", "fig4").indistinguishable(e),
        Pair(O, "Random", "PIG(greedy)", "fig4").worse(e),
    )


def vi_gain(e: Evidence) -> tuple[Finding, ...]:
    """How much PIG(VI) gains over PIG(greedy): most in Mazes, moderately in 1-2-3 Worlds, nothing in Dense."""
    gains = {name: 1.0 - e.areas[name]["PIG(VI)"] / e.areas[name]["PIG(greedy)"] for name in (D, M, O)}
    saved = {name: e.areas[name]["PIG(greedy)"] - e.areas[name]["PIG(VI)"] for name in (D, M, O)}
    free = {name: e.areas[name]["Unembodied"] for name in (D, M, O)}
    in_units = {name: saved[name] / free[name] for name in (D, M, O)}  # in units of the unembodied area
    gap = float(in_units[M].mean() - in_units[O].mean())
    error = float(np.hypot(*(in_units[n].std(ddof=1) / np.sqrt(len(in_units[n])) for n in (M, O))))
    z = gap / error if error else 0.0
    ok = True if z > VERY_SURE else False if z < -VERY_SURE or e.n_worlds >= MIN_WORLDS else None
    relative = ", ".join(f"{title(n)} {gains[n].mean():.1%}" for n in (M, O, D))
    units = " against ".join(f"{in_units[n].mean():.2f} ({title(n)})" for n in (M, O))
    most = Finding(
        "Area saved over PIG(greedy)",
        "most in Mazes, less in 1-2-3 Worlds",
        f"{units} in units of the unembodied area, {z:+.1f} standard errors; as a share of the greedy area: {relative}",
        ok,
        f"in units of the unembodied area, by more than {VERY_SURE:g} standard errors",
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
    """What knowing the true world adds."""
    areas = e.areas[M]
    lost = float((areas["PIG(VI)"] - areas["PIG(VI+)"]).mean())
    gained = {s: float((areas[s] - areas["PIG(VI)"]).mean()) for s in ("Random", "PIG(greedy)")}
    lacking = max(lost / g if g > 0 else np.inf for g in gained.values())
    little = Finding(
        "Mazes: what PIG(VI) lacks of PIG(VI+)",
        "little next to its gain over Random and PIG(greedy)",
        f"{lacking:.0%} of the gain",
        bool(lacking < LITTLE),
        "less than half counts as little",
        lacking,
        unit="gain",
    )
    return (
        Pair(M, "PIG(VI)", "PIG(VI+)", "fig4", printed=False).worse(e),
        Pair(D, "PIG(VI)", "PIG(VI+)", "fig4", printed=False).indistinguishable(e),
        Pair(O, "PIG(VI)", "PIG(VI+)", "fig4", printed=False).indistinguishable(e),
        little,
    )


def lta(e: Evidence) -> tuple[Finding, ...]:
    """Least taken action against Random."""
    return tuple(Pair(name, "LTA", "Random", "fig6").indistinguishable(e) for name in (D, M, O))


def cb(e: Evidence) -> tuple[Finding, ...]:
    """Counter-based exploration against Random and PIG(VI)."""
    return (
        Pair(D, "CB", "Random", "fig6").worse(e),
        Pair(O, "CB", "Random", "fig6").worse(e),
        Pair(M, "Random", "CB", "fig6", printed=False).worse(e),
        Pair(M, "CB", "PIG(VI)", "fig6").worse(e),
    )


def peig_q(e: Evidence) -> tuple[Finding, ...]:
    """Q-learning on PEIG against Random: behind at first, and catching up."""
    return (
        Pair(D, "PEIG(Q)", "Random", "fig6").worse(e),
        Pair(O, "PEIG(Q)", "Random", "fig6").worse(e),
        Pair(M, "PEIG(Q)", "Random", "fig6").indistinguishable(e),
        *(_catching_up(e, name) for name in (D, M, O)),
    )


def _catching_up(e: Evidence, name: str) -> Finding:
    lag = e.curves[name]["PEIG(Q)"] - e.curves[name]["Random"]
    early, last, most = float(lag[int(EARLY * len(lag))]), float(lag[-1]), float(lag.max())
    ok = True if early > 0 and last < CAUGHT_UP * most else False if e.n_worlds >= MIN_WORLDS else None
    return Finding(
        f"{title(name)}: PEIG(Q) minus Random",
        "behind at first, catches up late",
        f"{early:+.1f} bits after a tenth of the run, {most:+.1f} at most, {last:+.1f} at the end",
        ok,
        "behind after a tenth of the run, and at the end by less than half of the most it ever was",
        last / float(e.curves[name]["Random"][0]),
        unit="missing information",
    )


def best_of_previous(e: Evidence) -> tuple[Finding, ...]:
    """PIG(VI) against the strategies of the literature."""
    rivals = ("LTA", "CB", "PEIG(Q)")
    return tuple(Pair(name, rival, "PIG(VI)", "fig6", printed=False).worse(e) for name in (M, O) for rival in rivals)


def pig_q(e: Evidence) -> tuple[Finding, ...]:
    """Q-learning on PIG."""
    like = tuple(Pair(name, "PIG(Q)", "PEIG(Q)", "figS3", printed=False).indistinguishable(e) for name in (D, M, O))
    return (*like, *(Pair(name, "PIG(Q)", "PIG(VI)", "figS3", printed=False).worse(e) for name in (M, O)))


def peig_vi(e: Evidence) -> tuple[Finding, ...]:
    """Value iteration on PEIG."""
    return Pair(M, "PEIG(VI)", "PIG(VI)", "figS3").indistinguishable(e), Pair(O, "PEIG(VI)", "PIG(VI)", "figS3").worse(
        e
    )


def utilities(e: Evidence) -> tuple[Finding, ...]:
    """PIG against PMC and PLC, all under value iteration."""
    modes = tuple(Pair(name, "PMC(VI)", "PIG(VI)", "fig7").worse(e) for name in (D, M, O))
    return (*modes, Pair(O, "PLC(VI)", "PIG(VI)", "fig7").worse(e))


def utilities_help(e: Evidence) -> tuple[Finding, ...]:
    """PMC and PLC against Random."""
    both = ("PMC(VI)", "PLC(VI)")
    return tuple(Pair(name, "Random", s, "fig7", printed=False).worse(e) for name in (M, O) for s in both)


def l1(e: Evidence) -> tuple[Finding, ...]:
    """The same comparison in L1 distance."""
    return tuple(Pair(O, s, "PIG(VI)", "figS4", printed=False, l1=True).worse(e) for s in ("PMC(VI)", "PLC(VI)"))


def learned_prior(e: Evidence) -> tuple[Finding, ...]:
    """Exploration with a learned concentration soon matches exploration with the true one, wherever it starts."""
    starts = e.stages["learned"]["start"].values
    return tuple(_matching(e, name, float(start)) for name in (D, M) for start in starts)


def _matching(e: Evidence, name: str, start: float) -> Finding:
    stage = e.stages["learned"].sel(world_class=name)
    learned, given = (
        curve.mean("world").dropna("time").values for curve in (stage["learned"].sel(start=start), stage["given"])
    )
    apart = (learned - given) / given
    late = apart[int(SOON * len(apart)) :]
    at = {part: float(apart[int(part * (len(apart) - 1))]) for part in (0.05, 0.1, 0.25, 0.5, 1.0)}
    told = ", ".join(f"{100 * value:+.1f} % at {part:.0%}" for part, value in at.items())
    return Finding(
        f"{title(name)}: missing information with a concentration learned from {start:g} on, against the true one, "
        f"{float(stage['true_alpha']):g}",
        "soon matches",
        f"{told} of the run",
        True if np.abs(late).max() < CLOSE else False if e.n_worlds >= MIN_WORLDS else None,
        f"within {CLOSE:.0%} from {SOON:.0%} of the run on",
        at[SOON],
        unit="missing information",
    )
