"""Checks of a recorded history for likely mistakes: unused columns, gaps, rows in no order, ends that were not told.

A history with such a mistake is read and learned without an error, so the checks warn.
"""

from __future__ import annotations

import inspect
import os
import warnings
from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np

from berlyne.labels import Labels
from berlyne.models.history import UNKNOWN, History, RawHistory
from berlyne.validation import HISTORIES, BoolArray, IntArray

MAX_STATES_SHOWN = 4
"""Largest number of states that a warning lists."""
MIN_PAIRS = 8
"""Pairs of lines, at least, from which rows in no order are told from gaps."""
MIN_ENDS = 2
"""Episodes, at least, that end in a state; where a single one was cut says little."""
PACKAGE = os.path.dirname(os.path.dirname(__file__))


def warn_unused(raw: RawHistory) -> None:
    """Warn about columns of a frame that have no role."""
    _warn([] if raw.frame is None else raw.frame.notes)


def warn_jumps(raw: RawHistory, lines: History, states: Labels) -> None:
    """Warn about gaps, and about rows in no order, in a frame; other forms cannot tell episodes apart."""
    if raw.frame is not None:
        _warn(_note_jumps(lines, states))


def warn_untold_ends(raw: RawHistory, lines: History, states: Labels, terminal: Collection[int]) -> None:
    """Warn about states in which episodes seem to end; not if the history tells ends, or if they are in `terminal`."""
    if raw.ended is None and "episode" in lines.labels:
        _warn(_note_ends(lines, states, terminal))


def _warn(notes: Iterable[str]) -> None:
    """Warn; the warnings point to the line that called the package."""
    for note in notes:
        warnings.warn(note + HISTORIES, UserWarning, stacklevel=_stack_level())


def _stack_level() -> int:
    """Return the `stacklevel` of the first caller outside the package."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame, level = frame.f_back, level + 1
    return level


def _note_jumps(lines: History, states: Labels) -> list[str]:
    """Note lines that do not begin where the line before them in the same episode led to.

    Without a column episode, each jump may begin an episode; most lines of a path still follow each other.
    """
    pairs = np.concatenate([np.stack([order[:-1], order[1:]]) for order in lines.by_subject()], axis=1)  # (2, K)
    within = ~lines.ended[pairs[0]] & _same_episode(lines, pairs)
    led_to, begin = lines.steps[pairs[0], 2], lines.steps[pairs[1], 0]
    gap = within & (led_to != begin) & (led_to != UNKNOWN)
    n_gaps, n_pairs = int(np.count_nonzero(gap)), int(np.count_nonzero(within))
    if n_pairs >= MIN_PAIRS and 2 * n_gaps > n_pairs:
        return [
            f"the rows of the history seem to be in no order: {n_gaps:,} of {n_pairs:,} do not begin where the row "
            "before them led to; sort them, or pass order= with a column such as 'trial'"
        ]
    if "episode" not in lines.labels:
        return []
    interleaved = _interleaved_episode(lines)
    if interleaved:
        return [f"the rows of the history seem to be in no order: {interleaved}; sort them, or pass order="]
    if not n_gaps:
        return []
    i, j = (int(line) for line in pairs[:, np.flatnonzero(gap)[0]])
    return [
        f"the history has gaps: {n_gaps:,} of {n_pairs:,} lines do not begin where the line before them led to, such "
        f"as line {j}, counted from 0, which begins in {states[int(lines.steps[j, 0])]!r}, while line {i} led to "
        f"{states[int(lines.steps[i, 2])]!r}, of the same episode"
    ]


def _same_episode(lines: History, pairs: IntArray) -> BoolArray:
    """Whether both lines of each pair belong to the same episode, (K,)."""
    episodes = lines.labels.get("episode")
    if episodes is None:
        return np.ones(pairs.shape[1], dtype=bool)
    return np.array([episodes[i] == episodes[j] for i, j in pairs.T.tolist()], dtype=bool)


def _interleaved_episode(lines: History) -> str:
    """Describe the first episode of a subject that goes on after another has begun; empty if there is none."""
    episodes = lines.labels.get("episode", [])
    for order in lines.by_subject() if episodes else []:
        closed: set[Any] = set()
        current: Any = None
        for i in order.tolist():
            if episodes[i] != current:
                closed.add(current)
                current = episodes[i]
                if current in closed:
                    return f"line {i}, counted from 0, goes back to episode {current!r}"
    return ""


def _note_ends(lines: History, states: Labels, terminal: Collection[int]) -> list[str]:
    """Note states that are only ever the last of their episodes, although no line says that an episode ended."""
    is_last = np.zeros(len(lines.steps), dtype=bool)
    for order in lines.by_subject():
        order = order[lines.steps[order, 2] != UNKNOWN]
        pairs = np.stack([order[:-1], order[1:]])
        is_last[pairs[0, ~_same_episode(lines, pairs)]] = True
        is_last[order[-1:]] = True
    s, _, s_next = lines.steps[lines.steps[:, 2] != UNKNOWN].T
    is_last = is_last[lines.steps[:, 2] != UNKNOWN]
    times_last = Counter(s_next[is_last].tolist())
    repeated = {state for state, n in times_last.items() if n >= MIN_ENDS}
    only_last = repeated - set(s.tolist()) - set(s_next[~is_last].tolist()) - set(terminal)
    if not only_last:
        return []
    named = [repr(states[state]) for state in sorted(only_last)]
    more = f" and {len(named) - MAX_STATES_SHOWN} more" if len(named) > MAX_STATES_SHOWN else ""
    if len(named) == 1:
        subject = f"the state {named[0]} is only ever the last of its episodes"
    else:
        subject = f"the states {', '.join(named[:MAX_STATES_SHOWN])}{more} are only ever the last of their episodes"
    return [
        f"{subject}, but the history does not tell that episodes end there; if they do, pass ended= or a column ended, "
        "because the explorer plans as if it could go on from there"
    ]
