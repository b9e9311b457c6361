"""Benchmark worlds from the literature, each with its source.

Rewards are left out, because the aim is to learn the world. None of these worlds is a class of the paper. The prior is
a Dirichlet distribution over all states, whose concentration explorers learn on the way; `alpha` sets it, and
`World.with_prior` sets another prior. Chains and grids define the positions of their states.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from berlyne.priors import Dirichlet
from berlyne.priors.dirichlet import Alpha
from berlyne.sparse import Rows
from berlyne.validation import FloatArray, IntArray, Seed, check_count, check_number, seed_sequence
from berlyne.worlds.structure import is_ergodic
from berlyne.worlds.world import World

Entry = tuple[Any, Any, Any, Any]
"""Transitions a, s, s_next and their probability; arrays are broadcast against each other."""
STEPS = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
"""Change of line and column by each action of a grid."""
MAX_DRAWS = 1000
"""Number of random worlds that are drawn until one is ergodic."""
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


def river_swim(n_states: int = 6, alpha: Alpha = "ml") -> World:
    """RiverSwim: swimming right is against the current.

    Strehl & Littman (2008), An analysis of model-based interval estimation for Markov decision processes, Fig. 3. The
    action "left" always succeeds. The action "right" moves right with probability 0.3, stays with 0.6 and drifts back
    with 0.1. At the left bank it stays with probability 0.7; at the right bank it stays with 0.3 and drifts back with
    0.7. An episode begins in state 1 or 2. The numbers are those of public code that cites this source. Osband et al.
    (2013) use others (0.35, 0.6, 0.05).

    Parameters
    ----------
    n_states : int
        Number of states N, at least 3; 6 in the source.
    alpha : float or "ml"
        Concentration of the prior; by default explorers learn it.

    Returns
    -------
    World
        The world, with a Dirichlet prior.
    """
    n = check_count("n_states", n_states, 3)
    s, inner, last = np.arange(n), np.arange(1, n - 1), n - 1
    left = [(0, s, np.maximum(s - 1, 0), 1.0)]
    right = [(1, inner, inner - 1, 0.1), (1, inner, inner, 0.6), (1, inner, inner + 1, 0.3)]
    banks = [(1, 0, 0, 0.7), (1, 0, 1, 0.3), (1, last, last, 0.3), (1, last, last - 1, 0.7)]
    rows = _rows(2, n, [*left, *right, *banks])
    return _world(rows, alpha, "RiverSwim", actions=["left", "right"], start={1: 0.5, 2: 0.5}, positions=_line(n))


def double_chain_kaufmann(n_states: int = 31, p_fail: float = 0.05, alpha: Alpha = "ml") -> World:
    """DoubleChain of Kaufmann et al.: a corridor entered in the middle, with noisy steps.

    Kaufmann et al. (2021), Adaptive reward-free exploration, and Ménard et al. (2021): two chains of equal length that
    share their first state. An action moves left or right, or with probability `p_fail` in the opposite direction. At
    an end of the corridor, a step outwards leaves the agent where it is. The definition is that of the code published
    with the first paper, and `p_fail` is 0.05 as in its configuration; Tiapkin et al. (2023), Fast rates for maximum
    entropy exploration, use 0.1. The length is 31 in some versions of the code and 33 in another. It is not known which
    of them was used for the figures of that paper.

    Parameters
    ----------
    n_states : int
        Number of states N; odd and at least 3.
    p_fail : float
        Probability of moving in the opposite direction.
    alpha : float or "ml"
        Concentration of the prior; by default explorers learn it.

    Returns
    -------
    World
        The world, with a Dirichlet prior.
    """
    n, p = check_count("n_states", n_states, 3), check_number("p_fail", p_fail, 0.0, 1.0)
    if n % 2 == 0:
        raise ValueError(f"n_states is {n}; it must be odd, so that there is a middle")
    s = np.arange(n)
    moves = [(a, step, 1.0 - p if step == towards else p) for a, towards in enumerate((-1, 1)) for step in (-1, 1)]
    rows = _rows(2, n, [(a, s, np.clip(s + step, 0, n - 1), chance) for a, step, chance in moves])
    return _world(rows, alpha, "DoubleChain (Kaufmann)", actions=["left", "right"], start=n // 2, positions=_line(n))


def double_chain_russo(length: int = 5, p: float = 0.7, alpha: Alpha = "ml") -> World:
    """DoubleChain of Russo et al.: two chains that begin in one state; moving forward may fail, moving back never does.

    Russo & Vannella (2024), Multi-reward best policy identification, from the code published with it. From state 0,
    "left" always leads to the first chain, states 1 to L, and "right" to the second chain, states L + 1 to 2 L. On a
    chain, "right" moves forward with probability `p` and back with 1 - p (at the end it stays with `p`). The action
    "left" always moves back.

    Parameters
    ----------
    length : int
        Length L of each chain.
    p : float
        Probability that "right" succeeds.
    alpha : float or "ml"
        Concentration of the prior; by default explorers learn it.

    Returns
    -------
    World
        The world, with a Dirichlet prior.
    """
    length, p = check_count("length", length, 1), check_number("p", p, 0.0, 1.0)
    entries: list[Entry] = [(0, 0, length + 1, 1.0), (1, 0, 1, 1.0)]  # action 0 is "right", as in the source
    for first in (1, length + 1):
        s = np.arange(first, first + length)
        back = np.where(s == first, 0, s - 1)
        entries += [(0, s, np.minimum(s + 1, s[-1]), p), (0, s, back, 1.0 - p), (1, s, back, 1.0)]
    rows = _rows(2, 2 * length + 1, entries)
    along = np.arange(1, length + 1)
    chains = [np.stack([along, np.full(length, y)], axis=1) for y in (0, 2)]
    positions = np.concatenate([[[0, 1]], *chains])  # "right" points to the right on both chains
    return _world(rows, alpha, "DoubleChain (Russo)", actions=["right", "left"], start=0, positions=positions)


def storck(n_states: int = 10, alpha: Alpha = "ml") -> World:
    """World of Storck et al.: deterministic states, and a last state from which every action leads anywhere.

    Storck, Hochreiter & Schmidhuber (1995), Reinforcement driven information acquisition in non-deterministic
    environments, Sec. 3. There are as many actions as states. In every state but the last, the last action leads to the
    next state and all other actions stay. In the last state every action leads to every state with equal probability.
    The entropies of all rows sum to N ln N nats, which is 460.517 for N = 100, the source's larger world. The source
    does not define the start; exploration begins in the first state.

    Parameters
    ----------
    n_states : int
        Number of states N, at least 2; 10 or 100 in the source.
    alpha : float or "ml"
        Concentration of the prior; by default explorers learn it.

    Returns
    -------
    World
        The world, with a Dirichlet prior.
    """
    n = check_count("n_states", n_states, 2)
    s, a, anywhere = np.arange(n - 1), np.arange(n)[:, np.newaxis], np.arange(n)
    rows = _rows(n, n, [(a[:-1], s, s, 1.0), (n - 1, s, s + 1, 1.0), (a, n - 1, anywhere, 1.0 / n)])
    return _world(rows, alpha, "Storck et al.", start=0, positions=_line(n))


def grid_world(side: int = 21, p_slip: float = 0.05, alpha: Alpha = "ml") -> World:
    """Open grid, entered in the middle, with noisy steps; states are (line, column).

    The 21 x 21 grid of Kaufmann et al. (2021), Adaptive reward-free exploration, from the code that its authors
    published. A step goes in the direction of the action. With probability `p_slip` it goes to one of the other
    neighbours instead, all equally likely. An action towards the border always leaves the agent where it is.

    Parameters
    ----------
    side : int
        Number of cells along each edge. If it is even, the middle is the cell below and to the right of the centre.
    p_slip : float
        Probability of another direction.
    alpha : float or "ml"
        Concentration of the prior; by default explorers learn it.

    Returns
    -------
    World
        The world, with a Dirichlet prior.
    """
    side = check_count("side", side, 1)
    cells = [(line, column) for line in range(side) for column in range(side)]
    to, p = _neighbours(cells), check_number("p_slip", p_slip, 0.0, 1.0)
    chances = _slipping(to, p)
    return _grid(cells, to, chances, alpha, "grid", start=(side // 2, side // 2))


def four_rooms(alpha: Alpha = "ml", p_slip: float = 1 / 3) -> World:
    """Four rooms connected by four doors, 104 cells; states are (line, column) of the 13 x 13 drawing.

    Sutton, Precup & Singh (1999), Between MDPs and semi-MDPs, the rooms example. A step goes in the direction of the
    action with probability 2/3, and in each other direction with 1/9. A step into a wall leaves the agent where it is.
    The drawing is that of public code that cites this source. Exploration may begin in any cell.

    Parameters
    ----------
    alpha : float or "ml"
        Concentration of the prior; by default explorers learn it.
    p_slip : float
        Probability of another direction.

    Returns
    -------
    World
        The world, with a Dirichlet prior.
    """
    lines = FOUR_ROOMS.strip().splitlines()
    cells = [(i, j) for i, line in enumerate(lines) for j, cell in enumerate(line) if cell == " "]
    p = check_number("p_slip", p_slip, 0.0, 1.0)
    chances = np.where(np.eye(4, dtype=bool)[:, np.newaxis], 1.0 - p, p / 3.0)
    return _grid(cells, _neighbours(cells), chances, alpha, "four rooms")


def noisy_tv(length: int = 10, n_channels: int = 10, alpha: Alpha = "ml") -> World:
    """Corridor with a television at its beginning, which shows a random channel after each "zap".

    After Burda et al. (2019), Large-scale study of curiosity-driven learning, where agents that seek surprise stay at
    the television. This chain is berlyne's own. In state `("tv", i)` the action "zap" leads to any channel with equal
    probability, "left" stays, and "right" leads to the first state of the corridor. The corridor has the states 0 to
    L - 1. There "left" and "right" move (from 0, "left" leads to channel 0), and "zap" does nothing. Exploration begins
    in state 0.

    Parameters
    ----------
    length : int
        Length L of the corridor.
    n_channels : int
        Number of channels of the television.
    alpha : float or "ml"
        Concentration of the prior; by default explorers learn it.

    Returns
    -------
    World
        The world, with a Dirichlet prior.
    """
    length, n_channels = check_count("length", length, 1), check_count("n_channels", n_channels, 1)
    n = length + n_channels
    corridor, channels = np.arange(length), np.arange(length, n)
    left = [(0, corridor, np.where(corridor > 0, corridor - 1, length), 1.0), (0, channels, channels, 1.0)]
    right = [(1, corridor, np.minimum(corridor + 1, length - 1), 1.0), (1, channels, 0, 1.0)]
    zap = [(2, corridor, corridor, 1.0), (2, channels[:, np.newaxis], channels, 1.0 / n_channels)]
    rows = _rows(3, n, [*left, *right, *zap])
    states = [*range(length), *(("tv", i) for i in range(n_channels))]
    row, column = np.divmod(np.arange(n_channels), 5)
    screens = np.stack([2.0 * column + 0.5, 1.4 * row - 1.4 * ((n_channels - 1) // 5) - 1.8], axis=1)
    positions = np.concatenate([_line(length), screens])  # the television above the corridor
    actions = ["left", "right", "zap"]
    return _world(rows, alpha, "noisy TV", states=states, actions=actions, start=0, positions=positions)


def forked_river_swim(length: int = 5, alpha: Alpha = "ml") -> World:
    """Forked RiverSwim: two rivers that begin at one bank; a third action changes the river.

    Russo & Proutiere (2023), Model-free active exploration in reinforcement learning, from the code published with it.
    States 0 to L - 1 are the first river, L to 2 L - 2 the second one; both begin in state 0. "left" and "right" are
    those of `river_swim`, and "switch" leads to the same place of the other river, but does nothing in state 0 and at
    both ends. The code lets "right" in the first state of the second river drift back to the end of the first river,
    which its drawing excludes; here it drifts back to state 0.

    Parameters
    ----------
    length : int
        Length L of each river, with the state that they share; at least 3.
    alpha : float or "ml"
        Concentration of the prior; by default explorers learn it.

    Returns
    -------
    World
        The world, with a Dirichlet prior.
    """
    length = check_count("length", length, 3)
    entries: list[Entry] = [(0, 0, 0, 1.0), (1, 0, 0, 0.7), (1, 0, 1, 0.3), (2, 0, 0, 1.0)]
    for first in (1, length):
        s = np.arange(first, first + length - 1)
        back, inner, end = np.where(s == first, 0, s - 1), s[:-1], s[-1]
        entries += [(0, s, back, 1.0), (1, inner, back[:-1], 0.1), (1, inner, inner, 0.6), (1, inner, inner + 1, 0.3)]
        other = inner + (length - 1 if first == 1 else 1 - length)
        entries += [(2, inner, other, 1.0), (1, end, end, 0.3), (1, end, back[-1], 0.7), (2, end, end, 1.0)]
    rows, along = _rows(3, 2 * length - 1, entries), np.arange(1, length)
    rivers = [np.stack([along, np.full(length - 1, y)], axis=1) for y in (0, 2)]
    positions = np.concatenate([[[0, 1]], *rivers])
    return _world(rows, alpha, "forked RiverSwim", actions=["left", "right", "switch"], start=0, positions=positions)


def n_arms(n: int = 6, p: float = 1.0, alpha: Alpha = "ml") -> World:
    """N arms: a hub from which each action enters its own room, the later rooms with small probability.

    After SixArms of Strehl & Littman (2008), An analysis of model-based interval estimation for Markov decision
    processes, Fig. 2: in room i action i stays, and every other action leads back to the hub. The probabilities of
    entering are those of the code of Russo & Vannella (2024), Multi-reward best policy identification: action i enters
    room i with probability p / i, and 1 for i = 1; otherwise it stays in the hub. In that code no action leaves a
    room; here they do, as in SixArms.

    Parameters
    ----------
    n : int
        Number of arms, and of actions.
    p : float
        Probability of entering room i, times i.
    alpha : float or "ml"
        Concentration of the prior; by default explorers learn it.

    Returns
    -------
    World
        The world, with a Dirichlet prior. State 0 is the hub.
    """
    n, p = check_count("n", n, 2), check_number("p", p, 0.0, 1.0)
    arm = np.arange(n)
    enter = np.where(arm == 0, 1.0, p / (arm + 1))
    hub = [(arm, 0, arm + 1, enter), (arm, 0, 0, 1.0 - enter)]
    a, room = np.meshgrid(arm, arm + 1, indexing="ij")
    rows = _rows(n, n + 1, [*hub, (a, room, np.where(a == room - 1, room, 0), 1.0)])
    return _world(rows, alpha, "N arms", start=0)


def deep_sea(size: int = 10, p_slip: float = 0.0, alpha: Alpha = "ml") -> World:
    """DeepSea: a triangle of cells through which every step sinks one line, to the left or to the right.

    Osband, Aslanides & Cassirer (2018), Randomized prior functions for deep reinforcement learning, and bsuite. From
    cell (line, column) "right" leads to (line + 1, column + 1), and "left" to (line + 1, column - 1) or, at the left
    edge, (line + 1, 0). From the last line every action leads back to the first cell, which replaces the reset of the
    source. Only cells that can be reached are states. The source draws which action is which; a prior that treats all
    states alike does not depend on it.

    Parameters
    ----------
    size : int
        Number of lines.
    p_slip : float
        Probability that "right" goes left; 1 / size in the stochastic version of the source.
    alpha : float or "ml"
        Concentration of the prior; by default explorers learn it.

    Returns
    -------
    World
        The world, with a Dirichlet prior; states are (line, column).
    """
    size, p = check_count("size", size, 2), check_number("p_slip", p_slip, 0.0, 1.0)
    cells, number = [(0, 0)], {(0, 0): 0}
    entries: list[Entry] = []
    for line, column in cells:  # grows while it is read
        to = [(line + 1, max(column - 1, 0)), (line + 1, column + 1)] if line + 1 < size else [(0, 0), (0, 0)]
        for cell in to:
            if cell not in number:
                number[cell] = len(cells)
                cells.append(cell)
        s, left, right = number[line, column], number[to[0]], number[to[1]]
        entries += [(0, s, left, 1.0), (1, s, right, 1.0 - p), (1, s, left, p)]
    rows, positions = _rows(2, len(cells), entries), np.array(cells)[:, ::-1]
    return _world(rows, alpha, "DeepSea", states=cells, actions=["left", "right"], start=(0, 0), positions=positions)


def n_room(n_rooms: int = 5, side: int = 5, p_slip: float = 0.05, alpha: Alpha = "ml") -> World:
    """NRoom: square rooms in a row, connected by doors, entered in the middle room; states are (line, column).

    The NRoom environment of rlberry (Domingues et al. 2021), which Ménard et al. (2021), Fast active learning for pure
    exploration in reinforcement learning, explore without reward. There at most five rooms stand in a row; here all
    do. Steps slip as in `grid_world`. Terminal states are left out, with the rewards.

    Parameters
    ----------
    n_rooms : int
        Number of rooms.
    side : int
        Number of cells along each wall of a room.
    p_slip : float
        Probability of another direction.
    alpha : float or "ml"
        Concentration of the prior; by default explorers learn it.

    Returns
    -------
    World
        The world, with a Dirichlet prior.
    """
    n_rooms, side = check_count("n_rooms", n_rooms, 1), check_count("side", side, 1)
    p = check_number("p_slip", p_slip, 0.0, 1.0)
    width, door = side + 1, side // 2
    columns = range(n_rooms * width - 1)
    cells = [(i, j) for i in range(side) for j in columns if j % width != side or i == door]
    to = _neighbours(cells)
    start = (door, (n_rooms // 2) * width + door)
    return _grid(cells, to, _slipping(to, p), alpha, "NRoom", start=start)


def garnet(n_states: int = 20, n_actions: int = 4, branching: int = 3, seed: Seed = 0, alpha: Alpha = "ml") -> World:
    """Garnet: a random world in which every action leads to a few states, drawn anew for each pair.

    Archibald, McKinnon & Thomas (1995), On the generation of Markov decision processes, as used by Bhatnagar et al.
    (2009), Natural actor-critic algorithms. The next states of a pair are drawn without replacement, and their
    probabilities are the gaps between sorted uniform numbers. Worlds are drawn until every state can be reached from
    every other one.

    Parameters
    ----------
    n_states, n_actions : int
        Number of states and of actions.
    branching : int
        Number of next states of each pair.
    seed : int, SeedSequence or Generator
        Seed of the world.
    alpha : float or "ml"
        Concentration of the prior; by default explorers learn it.

    Returns
    -------
    World
        The world, with a Dirichlet prior.
    """
    n, m, b = check_count("n_states", n_states, 1), check_count("n_actions", n_actions, 1), branching
    if not 1 <= check_count("branching", b, 1) <= n:
        raise ValueError(f"branching is {b}; it must be at most the number of states, {n}")
    rng = seed if isinstance(seed, np.random.Generator) else np.random.default_rng(seed_sequence(seed))
    for _ in range(MAX_DRAWS):
        order = np.argsort(rng.random((m, n, n)), axis=2)[:, :, :b]
        cuts = np.sort(rng.random((m, n, b - 1)), axis=2)
        p = np.diff(cuts, axis=2, prepend=0.0, append=1.0)
        a, s = np.meshgrid(np.arange(m), np.arange(n), indexing="ij")
        world = _world(_rows(m, n, [(a[:, :, np.newaxis], s[:, :, np.newaxis], order, p)]), alpha, "Garnet", start=0)
        if is_ergodic(world):
            return world
    raise ValueError(
        f"branching is {b}; of {MAX_DRAWS} worlds with {n} states and {m} actions none is ergodic, so use a larger one"
    )


def _neighbours(cells: list[tuple[int, int]]) -> IntArray:
    """Return the cell in each direction, (N, 4); the cell itself if there is a wall."""
    line, column = np.array(cells).T + 1  # a margin of walls
    s = np.arange(len(cells))
    number = np.full((line.max() + 2, column.max() + 2), -1)
    number[line, column] = s
    beside = [number[line + di, column + dj] for di, dj in STEPS.values()]
    return np.stack([np.where(to >= 0, to, s) for to in beside], axis=1)


def _slipping(to: IntArray, p: float) -> FloatArray:
    """Return the probability that each action leads in each direction, (4, N, 4), if steps slip with probability p.

    A slip goes to any other neighbour. A step towards a wall stays.
    """
    n = len(to)
    is_open = to != np.arange(n)[:, np.newaxis]
    chances = np.empty((4, n, 4))
    for a, chance in enumerate(chances):
        slips = is_open & (np.arange(4) != a)
        n_slips = slips.sum(axis=1, keepdims=True)
        chance[:] = p * slips / np.maximum(n_slips, 1)
        chance[:, a] = 1.0 - p * (n_slips[:, 0] > 0)
        chance[~is_open[:, a]] = np.arange(4) == a
    return chances


def _grid(
    cells: list[tuple[int, int]], to: IntArray, chances: FloatArray, alpha: Alpha, name: str, **options: Any
) -> World:
    """Create a world of cells.

    Parameters
    ----------
    cells : list of tuple
        Line and column of each cell.
    to : ndarray of shape (N, 4)
        Cell in each direction.
    chances : ndarray of shape (M, N, 4) or (M, 1, 4)
        Probability that an action leads in each direction.
    alpha : float or "ml"
        Concentration of the prior.
    name : str
        Name of the world.
    **options : object
        Further arguments of `World`.
    """
    s, directions = np.arange(len(cells)), range(4)
    rows = _rows(4, len(cells), [(a, s, to[:, d], chances[a, :, d]) for a in range(4) for d in directions])
    positions = np.array(cells)[:, ::-1]
    return _world(rows, alpha, name, states=cells, actions=list(STEPS), positions=positions, **options)


def _line(n: int) -> IntArray:
    """Return the positions of states side by side, (N, 2)."""
    return np.stack([np.arange(n), np.zeros(n, dtype=np.int64)], axis=1)


def _rows(n_actions: int, n_states: int, entries: list[Entry]) -> Rows:
    """Create rows from entries; probabilities of a transition that occurs several times are added."""
    columns = zip(*(map(np.ravel, np.broadcast_arrays(*entry)) for entry in entries), strict=True)
    a, s, s_next, p = map(np.concatenate, columns)
    key, entry = np.unique((s * n_actions + a) * n_states + s_next, return_inverse=True)
    theta = np.bincount(entry, p).astype(np.float64)
    row, s_next = np.divmod(key[theta > 0], n_states)
    return Rows.from_entries(n_actions, n_states, row, s_next, theta[theta > 0])


def _world(rows: Rows, alpha: Alpha, name: str, **options: Any) -> World:
    """Create a world with a Dirichlet prior."""
    return World(rows, Dirichlet(alpha, n_states=rows.n_states, n_actions=rows.n_actions), name=name, **options)


BENCHMARKS: dict[str, Callable[..., World]] = {
    make.__name__: make
    for make in (
        river_swim,
        double_chain_kaufmann,
        double_chain_russo,
        storck,
        grid_world,
        four_rooms,
        noisy_tv,
        forked_river_swim,
        n_arms,
        deep_sea,
        n_room,
        garnet,
    )
}
"""Functions that create the worlds of this module, by name."""
