"""Claims about what learning is good for, and about learning the prior: Figs. 8 and S5."""

from __future__ import annotations

import numpy as np

from berlyne.arrays import FloatArray
from berlyne.claims.compare import ALPHA, ENOUGH
from berlyne.claims.evidence import Evidence
from berlyne.claims.learning import D, M, O
from berlyne.claims.verdict import Finding
from berlyne.stats import mean_rank_p_values
from berlyne.strategies import PAPER_STRATEGIES, STRATEGIES
from berlyne.worlds import title

TASKS = ("navigation", "reward")
DRAWN = tuple(name for name in PAPER_STRATEGIES if not name.endswith("(Q)"))
"""Strategies of Fig. 8: its caption has no symbol for Q-learning."""
CONTROLS = tuple(name for name in PAPER_STRATEGIES if STRATEGIES[name].sees_world or STRATEGIES[name].relocates)
SOON, CLOSE = 0.25, 0.05
"""A learned prior matches soon if, from this share of the run on, curves differ by less than this share."""


def loss(e: Evidence, world_class: str, task: str, strategies: tuple[str, ...]) -> FloatArray:
    """Average loss over the times of testing, (world, strategy)."""
    table = e.stages["tasks"][f"{task}_loss"].sel(world_class=world_class, strategy=list(strategies))
    return np.asarray(table.mean("snapshot").transpose("world", "strategy").values)


def tops(e: Evidence, world_class: str, task: str, alpha: float = ALPHA, everyone: bool = False) -> dict[str, str]:
    """Strategies that are no controls and that some other such strategy beats, and which one does."""
    pool = PAPER_STRATEGIES if everyone else DRAWN
    p_values, ranks = mean_rank_p_values(loss(e, world_class, task, pool))
    rivals = [i for i, name in enumerate(pool) if name not in CONTROLS]
    beaten = {}
    for i in rivals:
        by = [j for j in rivals if ranks[j] < ranks[i] and p_values[i, j] < alpha]
        if by:
            beaten[pool[i]] = pool[min(by, key=lambda j: ranks[j])]
    return beaten


def tasks_top(e: Evidence) -> tuple[Finding, ...]:
    """PIG(VI) is among the best, in every class and task."""
    found = []
    for name in (D, M, O):
        for task in TASKS:
            beaten = tops(e, name, task, everyone=e.pool_all)
            strict = tops(e, name, task, alpha=1e-4, everyone=e.pool_all)
            _, ranks = mean_rank_p_values(loss(e, name, task, DRAWN))
            place = 1 + sum(ranks[i] < ranks[DRAWN.index("PIG(VI)")] for i, s in enumerate(DRAWN) if s not in CONTROLS)
            by = beaten.get("PIG(VI)")
            at = f"mean rank {ranks[DRAWN.index('PIG(VI)')]:.2f} of {len(DRAWN)}, number {place} without controls"
            measured = f"{at}; beaten by {by}" if by else f"{at}; no other is significantly better"
            if by and "PIG(VI)" not in strict:
                measured += " (at p < 0.001; not at p < 0.0001)"
            ok = False if by else True if e.n_worlds >= ENOUGH else None
            found.append(Finding(f"{title(name)}, {task}", "PIG(VI) among the best (p > 0.001)", measured, ok))
    return tuple(found)


def tasks_only(e: Evidence) -> tuple[Finding, ...]:
    """No other strategy is among the best everywhere."""
    everywhere = {name: True for name in DRAWN if name not in CONTROLS}
    for world_class in (D, M, O):
        for task in TASKS:
            for name in tops(e, world_class, task, everyone=e.pool_all):
                everywhere[name] = False
    others = [name for name, top in everywhere.items() if top and name != "PIG(VI)"]
    ok = False if others and e.n_worlds >= ENOUGH else None if others else bool(everywhere["PIG(VI)"])
    measured = f"among the best everywhere: {', '.join(n for n, top in everywhere.items() if top) or 'none'}"
    return (Finding("All classes and tasks", "PIG(VI) and no other is among the best everywhere", measured, ok),)


def learned_prior(e: Evidence) -> tuple[Finding, ...]:
    """Exploration with a learned concentration soon matches exploration with the true one."""
    found = []
    for name in (D, M):
        curves = e.stages["learned"].sel(world_class=name)["missing_information"].mean("world")
        learned, given = (curves.sel(prior=which).dropna("time").values for which in ("learned", "given"))
        apart = (learned - given) / given
        late = apart[int(SOON * len(apart)) :]
        at = {share: float(apart[int(share * (len(apart) - 1))]) for share in (0.05, 0.1, 0.25, 0.5, 1.0)}
        measured = ", ".join(f"{value:+.1%} at {share:.0%}" for share, value in at.items()) + " of the run"
        ok = True if np.abs(late).max() < CLOSE else False if e.n_worlds >= ENOUGH else None
        expected = f"within {CLOSE:.0%} from {SOON:.0%} of the run on"
        about = f"{title(name)}: missing information with learned against given concentration"
        found.append(Finding(about, expected, measured, ok, at[0.25]))
    return tuple(found)
