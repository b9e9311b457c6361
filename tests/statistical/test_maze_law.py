"""Mazes are drawn according to readings R9 to R11."""

import numpy as np
import pytest
from scipy import stats

from berlyne import maze
from statistical.deviations import MANY, z_of_mean

N_MAZES = 600


@pytest.fixture(scope="module")
def mazes():
    return [maze(seed) for seed in range(N_MAZES)]


@pytest.fixture(scope="module")
def geometries(mazes):
    return [world.geometry for world in mazes]


def test_every_room_is_the_base_equally_often(geometries):
    assert stats.chisquare(np.bincount([g.base for g in geometries], minlength=36)).pvalue > 1e-3


def test_transporters_sit_on_any_wall_face_alike(geometries):
    """30 of 74 faces without replacement: 24 lie on the outer wall, the other 50 back to back in pairs."""
    room = np.arange(36).reshape(6, 6)
    outer = np.zeros((36, 4), dtype=bool)
    for rooms, side in ((room[0], 0), (room[-1], 1), (room[:, 0], 2), (room[:, -1], 3)):
        outer[rooms, side] = True
    on_outer = [np.sum(g.transporters & outer) for g in geometries]
    assert abs(z_of_mean(on_outer, 24 * 30 / 74)) < MANY
    both = [back_to_back(g.transporters) for g in geometries]
    assert abs(z_of_mean(both, 25 * 30 * 29 / (74 * 73))) < MANY


def back_to_back(faces):
    """Number of inner walls with a transporter on either side."""
    grid = faces.reshape(6, 6, 4)
    return np.sum(grid[:-1, :, 1] & grid[1:, :, 0]) + np.sum(grid[:, :-1, 3] & grid[:, 1:, 2])


def test_passages_favour_no_direction(geometries):
    """35 of 60 possible passages are open, vertical and horizontal ones with equal probability."""
    vertical = [g.passages[:, 0].sum() for g in geometries]
    assert abs(z_of_mean(vertical, 35 / 2)) < MANY


def carved_by_hand(rng, side=6):
    """Randomised depth-first search, written recursively; the number of doors of each room."""
    doors, visited = np.zeros((side, side), dtype=int), np.zeros((side, side), dtype=bool)

    def visit(i, j):
        visited[i, j] = True
        while True:
            around = [(i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)]
            free = [(k, m) for k, m in around if 0 <= k < side and 0 <= m < side and not visited[k, m]]
            if not free:
                return
            k, m = free[rng.integers(len(free))]
            doors[i, j] += 1
            doors[k, m] += 1
            visit(k, m)

    visit(*rng.integers(side, size=2))
    return doors


def test_corridors_are_those_of_depth_first_search(geometries):
    """Dead ends and crossings are as frequent as in an independent search, and rarer than in a uniform tree."""
    rng = np.random.default_rng(3)
    by_hand = [carved_by_hand(rng) for _ in range(N_MAZES)]
    for n_doors in (1, 3):
        ours = np.array([np.sum(g.passages.sum(axis=1) == n_doors) for g in geometries])
        theirs = np.array([np.sum(doors == n_doors) for doors in by_hand])
        standard_error = np.sqrt((ours.var() + theirs.var()) / N_MAZES)
        assert abs(ours.mean() - theirs.mean()) < MANY * standard_error


def rows_of_size(mazes, size, law="outcomes"):
    """Probabilities of rows with `size` distinct outcomes: that of the own direction first, then by state."""
    rows = []
    for world in mazes:
        g = world.geometry
        for s in range(36):
            if len(set(g.destination[s])) == size:
                for a in range(4):
                    states, p = world.rows.row(a, s)
                    own = states == g.destination[s, a]
                    rows.append([*p[own], *p[~own]])
    return np.array(rows)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_the_largest_of_a_dirichlet_draw_goes_ahead_and_the_others_are_exchangeable(mazes, size):
    rows = rows_of_size(mazes[:150], size)
    reference = np.random.default_rng(4).dirichlet(np.full(size, 0.25), size=20_000)
    assert stats.ks_2samp(rows[:, 0], reference.max(axis=1)).pvalue > 1e-3
    for j in range(2, size):
        assert abs(z_of_mean(rows[:, 1] - rows[:, j], 0.0)) < MANY
        assert stats.ks_2samp(rows[:, 1], rows[:, j]).pvalue > 1e-3
    for rank in range(size):
        ours, theirs = np.sort(rows, axis=1)[:, rank], np.sort(reference, axis=1)[:, rank]
        assert stats.ks_2samp(ours, theirs).pvalue > 1e-3


def test_drawn_over_directions_equal_outcomes_add_up():
    """R11, the other way: Dir(0.25) over four directions, the largest to the action's own."""
    worlds = [maze(seed, law="directions") for seed in range(150)]
    drawn = -np.sort(-np.random.default_rng(5).dirichlet(np.full(4, 0.25), size=20_000), axis=1)
    drawn[:, 1:] = np.random.default_rng(6).permuted(drawn[:, 1:], axis=1)
    for n_same in (1, 2, 3):  # directions that lead where the action's own does
        ours = [
            world.theta[a, s, g.destination[s, a]]
            for world in worlds
            for g in [world.geometry]
            for s in range(36)
            for a in range(4)
            if np.sum(g.destination[s] == g.destination[s, a]) == n_same
        ]
        assert len(ours) > 500
        assert stats.ks_2samp(ours, drawn[:, :n_same].sum(axis=1)).pvalue > 1e-3


@pytest.mark.slow
def test_a_million_rooms_take_less_than_a_gibibyte():
    world = maze(0, side=1000, n_transporters=800_000)
    rows, g = world.rows, world.geometry
    held = {id(x): x.nbytes for x in (rows.indptr, rows.indices, rows.data, g.passages, g.transporters, g.destination)}
    held |= {id(x): x.nbytes for x in (world.prior.support.indptr, world.prior.support.indices)}
    assert sum(held.values()) < 2**30
    assert g.passages.sum() == 2 * (10**6 - 1) and g.transporters.sum() == 800_000
