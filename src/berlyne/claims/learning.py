"""Claims about learning curves: Figs. 3, 4, 6, 7, S3, S4 and S5."""

from __future__ import annotations

import numpy as np

from berlyne.claims.compare import ENOUGH, alike, worse
from berlyne.claims.evidence import Evidence
from berlyne.claims.published import PUBLISHED_INDEX, D, M, O
from berlyne.claims.verdict import Finding
from berlyne.worlds import title

SOON, CLOSE = 0.25, 0.05
"""A learned prior matches soon if, from this part of the run on, curves differ by less than this fraction."""


def controls(e: Evidence) -> tuple[Finding, ...]:
    """Random against Unembodied."""
    return (
        worse(e, M, "Random", "Unembodied", "fig3"),
        worse(e, O, "Random", "Unembodied", "fig3"),
        alike(e, D, "Random", "Unembodied", "fig3", alpha=0.01),
    )


def embodied_greedy(e: Evidence) -> tuple[Finding, ...]:
    """PIG(greedy) against Unembodied."""
    return (
        worse(e, M, "PIG(greedy)", "Unembodied", "fig4"),
        worse(e, O, "PIG(greedy)", "Unembodied", "fig4"),
        alike(e, D, "PIG(greedy)", "Unembodied", "fig4"),
    )


def embodiment_index(e: Evidence) -> tuple[Finding, ...]:
    """The published averages, within the sampling error of both."""
    found = []
    for name, published in PUBLISHED_INDEX.items():
        index = e.embodiment_index(name)
        error = float(index.std(ddof=1) / np.sqrt(len(index)))
        mean = float(index.mean())
        gap = abs(mean - published)
        # the published average of 200 worlds has an error of its own, and is rounded to two digits
        theirs = float(index.std(ddof=1)) / np.sqrt(200)
        z = max(gap - 0.005, 0.0) / float(np.hypot(error, theirs))
        ok = z < 2.576 if e.n_worlds >= ENOUGH or z >= 2.576 else None
        measured = f"{mean:.3f} with standard error {error:.3f}, {z:.1f} standard errors from the published value"
        about = f"{title(name)}: embodiment index"
        low, high = mean - 1.96 * error, mean + 1.96 * error
        found.append(Finding(about, f"average {published:g}", measured, ok, mean, low, high))
    return tuple(found)


def greedy_random(e: Evidence) -> tuple[Finding, ...]:
    """PIG(greedy) against Random."""
    return (
        alike(e, D, "PIG(greedy)", "Random", "fig4"),
        alike(e, M, "PIG(greedy)", "Random", "fig4"),
        worse(e, O, "Random", "PIG(greedy)", "fig4"),
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
    ok = True if z > 3.29 else False if z < -3.29 or e.n_worlds >= ENOUGH else None
    relative = ", ".join(f"{title(n)} {gains[n].mean():.1%}" for n in (M, O, D))
    units = " against ".join(f"{in_units[n].mean():.2f} ({title(n)})" for n in (M, O))
    most = Finding(
        "Area saved over PIG(greedy)",
        "most in Mazes, less in 1-2-3 Worlds",
        f"{units} in units of the unembodied area, {z:+.1f} standard errors; as a share of the greedy area: {relative}",
        ok,
        gap,
        gap - 1.96 * error,
        gap + 1.96 * error,
    )
    return (
        worse(e, M, "PIG(greedy)", "PIG(VI)", "fig4"),
        worse(e, O, "PIG(greedy)", "PIG(VI)", "fig4"),
        alike(e, D, "PIG(greedy)", "PIG(VI)", "fig4"),
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
        f"{lacking:.0%} of the gain (less than half counts as little)",
        bool(lacking < 0.5),
        lacking,
    )
    return (
        worse(e, M, "PIG(VI)", "PIG(VI+)", "fig4"),
        alike(e, D, "PIG(VI)", "PIG(VI+)", "fig4"),
        alike(e, O, "PIG(VI)", "PIG(VI+)", "fig4"),
        little,
    )


def lta(e: Evidence) -> tuple[Finding, ...]:
    """Least taken action against Random."""
    return tuple(alike(e, name, "LTA", "Random", "fig6") for name in (D, M, O))


def cb(e: Evidence) -> tuple[Finding, ...]:
    """Counter-based exploration against Random and PIG(VI)."""
    return (
        worse(e, D, "CB", "Random", "fig6"),
        worse(e, O, "CB", "Random", "fig6"),
        worse(e, M, "Random", "CB", "fig6"),
        worse(e, M, "CB", "PIG(VI)", "fig6"),
    )


def peig_q(e: Evidence) -> tuple[Finding, ...]:
    """Q-learning on PEIG against Random: behind at first, and catching up."""
    found = [
        worse(e, D, "PEIG(Q)", "Random", "fig6"),
        worse(e, O, "PEIG(Q)", "Random", "fig6"),
        alike(e, M, "PEIG(Q)", "Random", "fig6"),
    ]
    for name in (D, M, O):
        lag = e.curves[name]["PEIG(Q)"] - e.curves[name]["Random"]
        tenth, last, most = float(lag[len(lag) // 10]), float(lag[-1]), float(lag.max())
        ok = True if tenth > 0 and last < 0.5 * most else False if e.n_worlds >= ENOUGH else None
        measured = f"{tenth:+.1f} bits after a tenth of the run, {most:+.1f} at most, {last:+.1f} at the end"
        found.append(Finding(f"{title(name)}: PEIG(Q) minus Random", "behind at first, catches up late", measured, ok))
    return tuple(found)


def best_of_previous(e: Evidence) -> tuple[Finding, ...]:
    """PIG(VI) against the strategies of the literature."""
    rivals = ("LTA", "CB", "PEIG(Q)")
    return tuple(worse(e, name, rival, "PIG(VI)", "fig6") for name in (M, O) for rival in rivals)


def pig_q(e: Evidence) -> tuple[Finding, ...]:
    """Q-learning on PIG."""
    like = tuple(alike(e, name, "PIG(Q)", "PEIG(Q)", "figS3") for name in (D, M, O))
    return (*like, *(worse(e, name, "PIG(Q)", "PIG(VI)", "figS3") for name in (M, O)))


def peig_vi(e: Evidence) -> tuple[Finding, ...]:
    """Value iteration on PEIG."""
    return alike(e, M, "PEIG(VI)", "PIG(VI)", "figS3"), worse(e, O, "PEIG(VI)", "PIG(VI)", "figS3")


def utilities(e: Evidence) -> tuple[Finding, ...]:
    """PIG against PMC and PLC, all under value iteration."""
    modes = tuple(worse(e, name, "PMC(VI)", "PIG(VI)", "fig7") for name in (D, M, O))
    return (*modes, worse(e, O, "PLC(VI)", "PIG(VI)", "fig7"))


def utilities_help(e: Evidence) -> tuple[Finding, ...]:
    """PMC and PLC against Random."""
    return tuple(worse(e, name, "Random", s, "fig7") for name in (M, O) for s in ("PMC(VI)", "PLC(VI)"))


def l1(e: Evidence) -> tuple[Finding, ...]:
    """The same comparison in L1 distance."""
    return tuple(worse(e, O, s, "PIG(VI)", "figS4", l1=True) for s in ("PMC(VI)", "PLC(VI)"))


def learned_prior(e: Evidence) -> tuple[Finding, ...]:
    """Exploration with a learned concentration soon matches exploration with the true one."""
    found = []
    for name in (D, M):
        curves = e.stages["learned"].sel(world_class=name)["missing_information"].mean("world")
        learned, given = (curves.sel(prior=which).dropna("time").values for which in ("learned", "given"))
        apart = (learned - given) / given
        late = apart[int(SOON * len(apart)) :]
        at = {part: float(apart[int(part * (len(apart) - 1))]) for part in (0.05, 0.1, 0.25, 0.5, 1.0)}
        measured = ", ".join(f"{value:+.1%} at {part:.0%}" for part, value in at.items()) + " of the run"
        ok = True if np.abs(late).max() < CLOSE else False if e.n_worlds >= ENOUGH else None
        expected = f"within {CLOSE:.0%} from {SOON:.0%} of the run on"
        about = f"{title(name)}: missing information with learned against given concentration"
        found.append(Finding(about, expected, measured, ok, at[0.25]))
    return tuple(found)
