"""Worlds that others compare explorers on, each with its source.

Rewards are left out: here one explores to learn. None of these is a class of the paper. The prior is a Dirichlet
distribution over all states unless another is set by `World.with_prior`. Chains and grids say where their states lie.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from berlyne.priors import Dirichlet
from berlyne.validation import FloatArray, IntArray, check_count, check_number
from berlyne.worlds.world import World

STEPS = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
"""Line and column that each action of a grid adds."""
FOUR_ROOMS = """
#############
#     #     #
#     #     #
#           #
#     #     #
#     #     #
## ####     #
#     ### ###
#     #     #
#     #     #
#           #
#     #     #
#############
"""


def river_swim(n_states: int = 6, alpha: float = 1.0) -> World:
    """RiverSwim: swimming right is against the current.

    Strehl & Littman (2008), An analysis of model-based interval estimation for Markov decision processes, Fig. 3:
    "left" always succeeds; "right" goes on with 0.3, stays with 0.6 and drifts back with 0.1, at the left bank stays
    with 0.7, and at the right bank stays with 0.3 and drifts back with 0.7. An episode begins in state 1 or 2. Numbers
    as in public code that names this source; Osband et al. (2013) use others (0.35, 0.6, 0.05).

    Parameters
    ----------
    n_states : 6 in the source, at least 3.
    alpha : concentration of the prior.
    """
    n = check_count("n_states", n_states, 3)
    theta, s = np.zeros((2, n, n)), np.arange(1, n - 1)
    theta[0, np.arange(n), np.maximum(np.arange(n) - 1, 0)] = 1.0
    theta[1, s, s - 1], theta[1, s, s], theta[1, s, s + 1] = 0.1, 0.6, 0.3
    theta[1, 0, 0], theta[1, 0, 1] = 0.7, 0.3
    theta[1, -1, -1], theta[1, -1, -2] = 0.3, 0.7
    return _world(theta, alpha, "RiverSwim", actions=["left", "right"], start={1: 0.5, 2: 0.5}, positions=_line(n))


def double_chain_kaufmann(n_states: int = 31, p_fail: float = 0.1, alpha: float = 1.0) -> World:
    """DoubleChain of Kaufmann et al.: one corridor entered in the middle, with slippery steps.

    Kaufmann et al. (2021), Adaptive reward-free exploration, and Ménard et al. (2021): two chains of equal length that
    share their first state. An action moves left or right, with `p_fail` in the other direction; at the ends one
    stays. From the code that the authors published with the first; its settings have 31 states and 0.1 in some
    versions, 33 and 0.05 in another, and which of them drew the paper's figures we do not know.

    Parameters
    ----------
    n_states : odd.
    p_fail : chance of going the other way.
    alpha : concentration of the prior.
    """
    n, p = check_count("n_states", n_states, 3), check_number("p_fail", p_fail, 0.0, 1.0)
    if n % 2 == 0:
        raise ValueError(f"n_states is {n}; it must be odd, so that there is a middle")
    s = np.arange(n)
    theta = np.zeros((2, n, n))
    for a, towards in enumerate((-1, 1)):
        for step, chance in ((towards, 1.0 - p), (-towards, p)):
            theta[a, s, np.clip(s + step, 0, n - 1)] += chance
    return _world(theta, alpha, "DoubleChain (Kaufmann)", actions=["left", "right"], start=n // 2, positions=_line(n))


def double_chain_russo(length: int = 5, p: float = 0.7, alpha: float = 1.0) -> World:
    """DoubleChain of Russo et al.: two chains that begin in one state, easy to leave and hard to go along.

    Russo & Vannella (2024), Multi-reward best policy identification, from the code published with it. State 0 leads
    by "left" to the first chain, states 1 to L, and by "right" to the second, states L + 1 to 2 L, for sure. On a chain
    "right" goes on with `p` and back with 1 - p (at its end it stays with `p`), "left" goes back for sure.

    Parameters
    ----------
    length : L, of each chain.
    p : chance that "right" succeeds.
    alpha : concentration of the prior.
    """
    length, p = check_count("length", length, 1), check_number("p", p, 0.0, 1.0)
    theta = np.zeros((2, 2 * length + 1, 2 * length + 1))  # the source has action 0 for "right", 1 for "left"
    for first in (1, length + 1):
        for s in range(first, first + length):
            back = 0 if s == first else s - 1
            theta[0, s, min(s + 1, first + length - 1)] = p
            theta[0, s, back] = 1.0 - p
            theta[1, s, back] = 1.0
    theta[0, 0, length + 1] = theta[1, 0, 1] = 1.0
    along = np.arange(1, length + 1)
    ways = [np.stack([along, np.full(length, y)], axis=1) for y in (0, 2)]
    where = np.concatenate([[[0, 1]], *ways])  # "right" is to the right on both chains
    return _world(theta, alpha, "DoubleChain (Russo)", actions=["right", "left"], start=0, positions=where)


def storck(n_states: int = 10, alpha: float = 1.0) -> World:
    """The world of Storck et al.: nine dull states, and one that is all surprise, as many actions as states.

    Storck, Hochreiter & Schmidhuber (1995), Reinforcement driven information acquisition in non-deterministic
    environments, Sec. 3. In every state but the last, the last action leads to the next state and all others stay; in
    the last state every action leads anywhere with equal chance. The entropies of all rows sum to N ln N nats, with
    N = 100 (the source's larger world) 460.517. Where exploration begins is not said; here in the first state.

    Parameters
    ----------
    n_states : N, 10 or 100 in the source.
    alpha : concentration of the prior.
    """
    n = check_count("n_states", n_states, 2)
    theta, s = np.zeros((n, n, n)), np.arange(n - 1)
    theta[:-1, s, s] = 1.0
    theta[-1, s, s + 1] = 1.0
    theta[:, -1] = 1.0 / n
    return _world(theta, alpha, "Storck et al.", start=0, positions=_line(n))


def grid_world(side: int = 21, p_slip: float = 0.05, alpha: float = 1.0) -> World:
    """An open grid, entered in the middle, with slippery steps; states are (line, column).

    The 21 x 21 grid of Kaufmann et al. (2021), Adaptive reward-free exploration, from the code that its authors
    published. A step goes in the direction of the action, or with `p_slip` to one of the other neighbours, each as
    likely; who walks into the border stays for sure.

    Parameters
    ----------
    side : odd; cells along each edge.
    p_slip : chance of another direction.
    alpha : concentration of the prior.
    """
    side = check_count("side", side, 1)
    if side % 2 == 0:
        raise ValueError(f"side is {side}; it must be odd, so that there is a middle")
    cells = [(line, column) for line in range(side) for column in range(side)]
    to, p = _neighbours(cells), check_number("p_slip", p_slip, 0.0, 1.0)
    is_open = to != np.arange(len(cells))[:, np.newaxis]
    chances = np.empty((4, len(cells), 4))
    for a, chance in enumerate(chances):
        others = is_open & (np.arange(4) != a)
        chance[:] = p * others / np.maximum(others.sum(axis=1, keepdims=True), 1)
        chance[:, a] = 1.0 - p
        chance[~is_open[:, a]] = np.arange(4) == a
    return _grid(cells, to, chances, alpha, "grid", start=(side // 2, side // 2))


def four_rooms(alpha: float = 1.0, p_slip: float = 1 / 3) -> World:
    """Four rooms joined by four doors, 104 cells; states are (line, column) of the 13 x 13 drawing.

    Sutton, Precup & Singh (1999), Between MDPs and semi-MDPs, the rooms example: a step goes in the direction of the
    action with 2/3, in each of the others with 1/9; walking into a wall one stays. The drawing is that of public code
    that names this source. Exploration may begin in any cell.

    Parameters
    ----------
    alpha : concentration of the prior.
    p_slip : chance of another direction.
    """
    lines = FOUR_ROOMS.strip().splitlines()
    cells = [(i, j) for i, line in enumerate(lines) for j, cell in enumerate(line) if cell == " "]
    p = check_number("p_slip", p_slip, 0.0, 1.0)
    chances = np.where(np.eye(4, dtype=bool)[:, np.newaxis], 1.0 - p, p / 3.0)
    return _grid(cells, _neighbours(cells), chances, alpha, "four rooms")


def noisy_tv(length: int = 10, n_channels: int = 10, alpha: float = 1.0) -> World:
    """A corridor with a television at its beginning, which shows something else whenever one zaps.

    After Burda et al. (2019), Large-scale study of curiosity-driven learning, where agents that seek surprise stay at
    the television; this chain is our own. In `("tv", i)` the action "zap" leads to any channel with equal chance,
    "left" stays, "right" leads to the corridor, states 0 to L - 1, where "left" and "right" walk (from 0 "left"
    leads to channel 0) and "zap" does nothing. Exploration begins in 0.

    Parameters
    ----------
    length : L.
    n_channels : of the television.
    alpha : concentration of the prior.
    """
    length, n_channels = check_count("length", length, 1), check_count("n_channels", n_channels, 1)
    n = length + n_channels
    theta = np.zeros((3, n, n))
    corridor, channels = np.arange(length), np.arange(length, n)
    theta[0, corridor, np.where(corridor > 0, corridor - 1, length)] = 1.0
    theta[1, corridor, np.minimum(corridor + 1, length - 1)] = 1.0
    theta[2, corridor, corridor] = 1.0
    theta[0, channels, channels] = 1.0
    theta[1, channels, 0] = 1.0
    theta[2, length:, length:] = 1.0 / n_channels
    states = [*range(length), *(("tv", i) for i in range(n_channels))]
    return _world(theta, alpha, "noisy TV", states=states, actions=["left", "right", "zap"], start=0)


def _neighbours(cells: list[tuple[int, int]]) -> IntArray:
    """The cell in each direction, (N, 4); the cell itself where there is a wall."""
    number = {cell: s for s, cell in enumerate(cells)}
    return np.array([[number.get((i + di, j + dj), s) for di, dj in STEPS.values()] for s, (i, j) in enumerate(cells)])


def _grid(
    cells: list[tuple[int, int]], to: IntArray, chances: FloatArray, alpha: float, name: str, **more: Any
) -> World:
    """A world of cells, where an action leads in each direction with a chance of its own, (M, N or 1, 4)."""
    theta, s = np.zeros((4, len(cells), len(cells))), np.arange(len(cells))
    for a in range(4):
        for direction in range(4):
            theta[a, s, to[:, direction]] += chances[a, :, direction]
    where = np.array(cells)[:, ::-1]
    return _world(theta, alpha, name, states=cells, actions=list(STEPS), positions=where, **more)


def _line(n: int) -> IntArray:
    """Positions of states side by side, (N, 2)."""
    return np.stack([np.arange(n), np.zeros(n, dtype=np.int64)], axis=1)


def _world(theta: FloatArray, alpha: float, name: str, **more: Any) -> World:
    n_actions, n_states, _ = theta.shape
    return World(theta, Dirichlet(alpha, n_states=n_states, n_actions=n_actions), name=name, **more)


BENCHMARKS: dict[str, Callable[..., World]] = {
    make.__name__: make
    for make in (river_swim, double_chain_kaufmann, double_chain_russo, storck, grid_world, four_rooms, noisy_tv)
}
"""The worlds of this module, by name."""
