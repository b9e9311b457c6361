"""Maxima of the likelihood of choices that SciPy's L-BFGS-B finds from many starts, in plain NumPy.

`python tests/oracles/many_starts.py` computes them for 200 people of two kinds from 20 starts each, and writes
`many_starts.json` beside this file. It takes half an hour. Renew the file only if the simulated people change.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

sys.path.insert(0, str(Path(__file__).parents[1]))

from oracles.choice_likelihood import People, gradient, log_likelihood, simulate, simulate_harsh

STORED = Path(__file__).with_suffix(".json")
N_STARTS = 20


def best_of_many_starts(x: Any, allowed: Any, chosen: Any, n_starts: int = N_STARTS, low: Any = -20.0) -> float:
    """Log-likelihood that SciPy finds with weights times the spread of the values from `low` up to 20."""
    rng, best, n_values = np.random.default_rng(5), -np.inf, x.shape[2]
    variance = [np.var(x[t][allowed[t]], axis=0) for t in range(len(x))]
    unit = 1 / np.sqrt(np.mean(variance, axis=0))
    lowest = np.broadcast_to(low, n_values)
    bounds = [*zip(lowest * unit, 20 * unit, strict=True), (-23, 12)]
    for _ in range(n_starts):
        start = np.append(np.clip(rng.normal(0, 3, n_values), lowest, 20) * unit, rng.normal(-2, 2))
        result = minimize(
            lambda theta: -log_likelihood(theta, x, allowed, chosen),
            start,
            jac=lambda theta: -gradient(theta, x, allowed, chosen),
            method="L-BFGS-B",
            bounds=bounds,
            options={"ftol": 1e-13, "gtol": 1e-6, "maxiter": 200},
        )
        best = max(best, -float(result.fun))
    return best


def people_of(kind: str) -> People:
    """Return 200 people: "mild" with 150 to 299 choices and lapses up to 0.2, or "harsh"."""
    return simulate(200, 2) if kind == "mild" else simulate_harsh(200, 11)


def main() -> None:
    """Write the maxima of all people."""
    stored = {}
    for kind in ("mild", "harsh"):
        stored[kind] = [round(best_of_many_starts(*one), 9) for one in zip(*people_of(kind), strict=True)]
    STORED.write_text(json.dumps(stored) + "\n")


if __name__ == "__main__":
    main()
