"""Bonuses of Bayesian and reward-free reinforcement learning, as utilities: BEB, R-max, visits and model error.

They are indices (`berlyne.index`), so they are compiled and combine with every method by name: `"BEB(VI)"`. Where a
source adds the bonus to a reward, the bonus alone is the utility here. A constant factor then changes no choice.

| name | utility of row (a, s) | source |
|---|---|---|
| BEB | beta / (1 + kappa), kappa the pseudo-counts of the row (n if the prior has none) | Kolter & Ng 2009 |
| R-max | 1 if n < m, else 0 | Brafman & Tennenholtz 2002 |
| log_visits | -log2(1 + visits of s), in bits | Hazan et al. 2019, as a bonus of counts |
| AME | V / (n + 1)^1.5 + (T + 1) / (n + 1)^2, V = sum of sqrt(p (1 - p)) over T outcomes | Tarbouriech et al. 2020 |

R-max in the source sends a row that is tried less than m times to a state of constant reward for ever. The strategy
R-max(VI) does the same (`berlyne.strategies.planning.RMax`). The utility is for all other methods: such a row is worth
1 and leads where the estimate says.

AME is the gradient, up to a constant factor, of the bound on the mean L1 error that FW-AME decreases by Frank-Wolfe
steps; p are relative frequencies. The source has the number of states in place of T + 1, the number of distinct
outcomes and one more. Adding one to n keeps it finite.

References: J. Z. Kolter & A. Y. Ng, Near-Bayesian exploration in polynomial time, ICML (2009); R. I. Brafman & M.
Tennenholtz, R-max, JMLR (2002); E. Hazan, S. Kakade, K. Singh & A. Van Soest, Provably efficient maximum entropy
exploration, ICML (2019); J. Tarbouriech, S. Shekhar, M. Pirotta, M. Ghavamzadeh & A. Lazaric, Active model estimation
in Markov decision processes, UAI (2020).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from berlyne.strategies.indices import Row, register_family, register_index
from berlyne.validation import check_number


def beb(beta: float = 1.0) -> Callable[[Row], float]:
    """Return the Bayesian exploration bonus, beta / (1 + kappa)."""
    scale = check_number("beta", beta, 0.0, 1e12)

    def index(row: Row) -> float:
        return scale / (1.0 + (row.n if math.isnan(row.kappa) else row.kappa))

    return index


def r_max(m: float = 5) -> Callable[[Row], float]:
    """Return the index that is 1 for rows with less than m observations, and 0 for all others."""
    if not (float(m).is_integer() and m >= 1):
        raise ValueError(f"m is {m:g}; it must be a whole number, at least 1")
    enough = int(m)

    def index(row: Row) -> float:
        return 1.0 if row.n < enough else 0.0

    return index


def log_visits(row: Row) -> float:
    """Return -log2(1 + visits of the state), in bits."""
    return -math.log2(1.0 + row.state_visits)


def model_error(row: Row) -> float:
    """Return the decrease of the bound on the L1 error of the row by one more observation, up to a factor."""
    noise = 0.0
    for k in range(row.n_outcomes):
        p = row.counts[k] / row.n
        noise += math.sqrt(p * (1.0 - p))
    return float(noise / (row.n + 1.0) ** 1.5 + (row.n_outcomes + 1.0) / (row.n + 1.0) ** 2)


register_family("BEB", beb, "beta / (1 + pseudo-counts of the row) (Kolter & Ng 2009)", "1")
register_family("R-max", r_max, "1 for rows with less than m observations (Brafman & Tennenholtz 2002)", "1")
register_index("log_visits", log_visits, "-log2(1 + visits of the state), bits", "bits")
register_index("AME", model_error, "decrease of the bound on the L1 error of the row (Tarbouriech et al. 2020)", "1")
