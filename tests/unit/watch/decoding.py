"""Decode the data of a page as the page does."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from berlyne.validation import FloatArray, IntArray

PRIORS = {"Uint8Array": "<u1", "Uint16Array": "<u2", "Uint32Array": "<u4", "Int32Array": "<i4", "Float64Array": "<f8"}


def unpack(packed: dict[str, str]) -> Any:
    return np.frombuffer(base64.b64decode(packed["bytes"]), dtype=PRIORS[packed["type"]])


def last_events(run: dict[str, Any], t: int) -> IntArray:
    """The number of each row's last event up to time t."""
    time, row = unpack(run["event_time"]), unpack(run["event_row"])
    last = np.full(int(row.max()) + 1, -1)
    for i in np.flatnonzero(time <= t):
        last[row[i]] = i
    return last


def beliefs_at(run: dict[str, Any], t: int, n_states: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Estimates (M N, N), utilities (M N,) and missing bits (M N,) of rows r = s M + a at time t."""
    indptr, support, row = (unpack(run[name]).astype(int) for name in ("indptr", "support", "event_row"))
    size = np.diff(indptr)
    begin = np.concatenate([[0], np.cumsum(size[row])])
    values, entries, last = unpack(run["values"]), unpack(run["entries"]), last_events(run, t)
    theta_hat = np.zeros((len(last), n_states))
    for r, event in enumerate(last):
        theta_hat[r, support[indptr[r] : indptr[r + 1]]] = values[entries[begin[event] : begin[event + 1]]]
    return theta_hat, unpack(run["event_utility"])[last], unpack(run["event_missing"])[last]
