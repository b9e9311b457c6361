"""Drives that people are said to have, as utilities: rarity, surprise and count bonuses.

They are indices (`berlyne.index`), so they are compiled and combine with every method by name: `"rarity(VI)"`.

| name | utility of row (a, s) | source |
|---|---|---|
| rarity | expected rarity of the next state, -log2((n(s') + 1) / (sum of n + N)), in bits | Xu et al. 2021, with log2 |
| surprise | -log2 of the probability that the row's last outcome had before it was observed, in bits | Shannon 1948 |
| count_bonus | 1 / sqrt(1 + n), with n observations of the row | Strehl & Littman 2008; Bellemare et al. 2016 |
| log_count | -log2(1 + n), in bits | the rarity of a row, without its norm |

Rarity is what the field calls novelty: n(s') counts the visits of state s', the first one included, and the expectation
is over the current estimate. If states are discovered, all unknown states together count as one that was never visited.
A row that was never tried has the surprise that is expected of it, the entropy of its estimate. A refit of the prior
does not change the surprise that a row gave.

References: H. A. Xu, A. Modirshanechi, M. P. Lehmann, W. Gerstner & M. H. Herzog, Novelty is not surprise, PLOS
Computational Biology (2021); A. L. Strehl & M. L. Littman, An analysis of model-based interval estimation for Markov
decision processes, Journal of Computer and System Sciences (2008), bonus beta / sqrt(n); M. G. Bellemare and others,
Unifying count-based exploration and intrinsic motivation, NeurIPS (2016), bonus 1 / sqrt(n + 0.01).
"""

from __future__ import annotations

import math

from berlyne.strategies.indices import Row, register_index


def rarity(row: Row) -> float:
    """Return the expected rarity of the next state, in bits."""
    return row.rarity


def surprise(row: Row) -> float:
    """Return the surprise of the last outcome, in bits; of an untried row, the expected surprise."""
    return row.surprise


def count_bonus(row: Row) -> float:
    """Return 1 / sqrt(1 + n)."""
    return 1.0 / math.sqrt(1.0 + row.n)


def log_count(row: Row) -> float:
    """Return -log2(1 + n), in bits."""
    return -math.log2(1.0 + row.n)


DRIVES = {"rarity": rarity, "surprise": surprise, "count_bonus": count_bonus, "log_count": log_count}
"""The functions by name; an index of the user cannot have one of these names."""

register_index("rarity", rarity, "expected rarity of the next state, bits (Xu et al. 2021)", "bits")
register_index("surprise", surprise, "surprise of the last outcome of the row, bits", "bits")
register_index("count_bonus", count_bonus, "1 / sqrt(1 + n), n observations of the row (Strehl & Littman 2008)", "1")
register_index("log_count", log_count, "-log2(1 + n), bits", "bits")
