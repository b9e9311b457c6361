"""The status of a lab book, its history as a table, and its replay, for `berlyne lab`."""

from __future__ import annotations

import json
import math
import warnings
from typing import Any

import numpy as np

from berlyne.exploration.logbook import LabBook
from berlyne.exploration.run import Run
from berlyne.exploration.trials import START
from berlyne.labels import GrowingLabels, label_to_json
from berlyne.priors.protocols import discovers_states
from berlyne.worlds.world import World

STEPS = 10
"""Number of future steps for which the expected gain is printed."""
N_LAST = 3
"""Number of trials that the status lists."""
COLUMNS = ("time", "state", "action", "next_state", "episode", "ended", "timed_out", "lost", "client", "note")
TRIAL_COLUMNS = ("time", "condition", "outcome", "lost", "client", "note")
"""Columns of the history of trials without states, in which every trial is an episode."""


def status(book: LabBook) -> dict[str, Any]:
    """Return the status of a book as JSON values; what is not available is None.

    `missing` and `gain` are in bits. `warnings` are about the prior.
    """
    explorer = book.explorer
    prior = explorer.prior if discovers_states(explorer.prior) else explorer.model.prior
    result: dict[str, Any] = {
        "book": str(book.path),
        "strategy": str(explorer.strategy),
        "prior": repr(prior),
        "n_states": explorer.n_states,
        "n_actions": explorer.n_actions,
        "n_trials": len(book.trials),
        "n_obs": explorer.n_obs,
        "here": None if explorer.here is None or explorer.episode_is_over else label_to_json(explorer.here),
        "episode_is_over": explorer.episode_is_over,
        "missing": None,
        "gain": None,
        "pending": [trial_values(trial) for trial in book.pending],
        "last": [label_values(trial, book) for trial in book.trials[-N_LAST:]],
        "warnings": [],
    }
    if hasattr(explorer.prior, "expected_missing_information"):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            missing = explorer.expected_missing_information()
        result["missing"] = {"bits": missing.bits, "low": _finite(missing.low), "high": _finite(missing.high)}
        start = None if book.has_states else START
        if (explorer.n_obs and not explorer.episode_is_over) or start is not None:
            gain = explorer.expected_gain(STEPS, start)
            values = {"steps": STEPS, "bits": gain.bits, "standard_error": gain.standard_error}
            result["gain"] = {**values, "cost": gain.cost, "per_cost": gain.per_cost}
        result["warnings"] = [str(warning.message) for warning in caught]
    return result


def _finite(value: float) -> float | None:
    return None if math.isnan(value) else value


def trial_values(trial: Any) -> dict[str, Any]:
    """Return a pending trial as JSON values."""
    state = None if trial.s == START else label_to_json(trial.s)
    action = label_to_json(trial.a)
    return {"trial": trial.number, "state": state, "action": action, "client": trial.client, "time": trial.time}


def label_values(trial: Any, book: LabBook) -> dict[str, Any]:
    """Return a recorded trial as JSON values."""
    s, a, s_next = (label_to_json(label) for label in trial)
    flags = {name: getattr(trial, name) for name in ("ended", "timed_out", "lost")}
    texts = {name: getattr(trial, name) for name in ("client", "note", "time")}
    return {"state": s if book.has_states else None, "action": a, "next_state": s_next, **flags, **texts}


def status_json(book: LabBook, enough: float | None, confidence: float) -> str:
    """Return the status as JSON text; with `enough`, also whether no more than these bits are missing."""
    result = status(book)
    if enough is not None:
        is_enough = book.explorer.knows_enough(enough, confidence)
        result["enough"] = {"bits": enough, "confidence": confidence, "is_enough": bool(is_enough)}
    return json.dumps(result)


def print_status(book: LabBook) -> None:
    """Print the status as a table."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table, values, explorer = Table(show_header=False, box=None), status(book), book.explorer

    def line(name: str, text: str) -> None:
        table.add_row(escape(name), escape(text))

    line("explorer", repr(explorer))
    alpha = None if book.has_states else getattr(explorer.model.prior, "alpha", None)
    line("prior", values["prior"] if alpha is None else f"Dirichlet({alpha:g}) over the outcomes of every condition")
    missing, gain = values["missing"], values["gain"]
    if missing is not None:
        low, high = missing["low"], missing["high"]
        interval = "" if high is None else f", 95 % interval {low:.2f} to {high:.2f}"
        line("missing", f"{missing['bits']:.2f} bits expected{interval}")
        unit = "steps" if book.has_states else "trials"
        if gain is not None:
            learned = f"{gain['bits']:.2f} ± {gain['standard_error']:.2f} bits expected to be learned"
            cost = "" if gain["cost"] == STEPS else f", {gain['per_cost']:.3f} per unit of cost"
            line(f"next {STEPS} {unit}", learned + cost)
        elif explorer.episode_is_over:
            line(f"next {STEPS} {unit}", "not available between episodes")
        for warning in values["warnings"]:
            line("warning", warning)
    for trial in book.pending:
        by = "" if trial.client is None else f" ({trial.client})"
        line("pending", f"{trial.number}: {'' if trial.s == START else trial.s} {trial.a}{by}".replace(":  ", ": "))
    for recorded in book.trials[-N_LAST:]:
        words = [str(label) for label in (recorded if book.has_states else recorded[1:]) if label is not None]
        line("told", " ".join([*words, *flag_words(recorded, book)]))
    Console().print(table, highlight=False)


def history_table(book: LabBook) -> list[tuple[Any, ...]]:
    """Return all trials as rows under a header; a time-out or an end begins a new episode."""
    if not book.has_states:
        return [TRIAL_COLUMNS, *(_trial_row(trial) for trial in book.trials)]
    rows: list[tuple[Any, ...]] = [COLUMNS]
    episode = 0
    for trial in book.trials:
        s, a, s_next = trial
        flags = [int(getattr(trial, name)) for name in ("ended", "timed_out", "lost")]
        texts = [getattr(trial, name) or "" for name in ("client", "note")]
        rows.append((trial.time or "", s, a, "" if trial.lost else s_next, episode, *flags, *texts))
        episode += trial.ended or trial.timed_out
    return rows


def _trial_row(trial: Any) -> tuple[Any, ...]:
    _, condition, outcome = trial
    texts = trial.client or "", trial.note or ""
    return trial.time or "", condition, "" if trial.lost else outcome, int(trial.lost), *texts


def flag_words(trial: Any, book: LabBook) -> list[str]:
    """Return how a trial was not an ordinary one, in the words of the options of `lab tell`."""
    names = ("ended", "timed_out", "lost") if book.has_states else ("lost",)
    return [name.replace("_", "-") for name in names if getattr(trial, name)]


def book_run(book: LabBook) -> Run:
    """Return the history of a book as a run, in a world whose probabilities are the current estimates."""
    explorer = book.explorer
    if not explorer.n_obs:
        raise ValueError(f"{book.path} has no trials yet, so there is nothing to replay")
    if isinstance(explorer.state_labels, GrowingLabels):
        raise ValueError(
            f"{book.path} discovers its states; a page needs known states, so draw it with: berlyne lab plot"
        )
    lines = explorer._history_array()
    s, a, s_next, ended = lines.T.astype(np.int32)
    is_over = ended != 0
    is_over[:-1] |= s[1:] != s_next[:-1]
    episode = (np.cumsum(is_over) - is_over).astype(np.int32)
    terminal = [explorer.states[s] for s in sorted(explorer._terminal)]
    world = World(
        explorer.model.theta_hat,
        explorer.model.prior,
        name=book.path.name,
        states=explorer.state_labels.custom,
        actions=explorer.action_labels.custom,
        terminal=terminal or None,
        possible=None if np.all(explorer.allowed) else explorer.allowed,
    )
    states = np.append(s, s_next[-1]).astype(np.int32)
    path = states, a, s_next, episode, ended == 1
    return Run(explorer.strategy, *path, world, explorer, np.zeros(len(a)))
