"""Coordination methods in worlds small enough to check by hand."""

import numpy as np
import pytest

from berlyne.engine import argmax
from berlyne.strategies.choice import TIE_TOLERANCE, random_argmax
from berlyne.strategies.coordination import (
    Coordination,
    CounterBased,
    Greedy,
    LeastTaken,
    QLearning,
    Relocating,
    TrueModel,
    UniformChoice,
    ValueIteration,
    View,
)
from messages import raises
from unit.engine.kernels import as_kernel

U = np.array([0.0, 0.5])
compiled_argmax, grow_tree, best_row, update_tree = map(
    as_kernel, (argmax.random_argmax, argmax.grow_tree, argmax.best_row, argmax.update_tree)
)


def view(utility=((0.0, 0.0), (0.0, 0.0)), theta_hat=None, counts=None, visits=(0, 0)):
    """Two actions, two states; action 0 leads to state 0 and action 1 to state 1 unless said otherwise."""
    leads = np.array([[[1.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]]])
    return View(
        np.array(utility, dtype=float),
        leads if theta_hat is None else np.array(theta_hat),
        np.zeros((2, 2, 2), dtype=int) if counts is None else np.array(counts),
        np.array(visits),
    )


def test_best_of_takes_the_largest():
    for u in (0.0, 0.5, 0.999):
        assert random_argmax(np.array([1.0, 3.0, 2.0]), u) == 1 == compiled_argmax(np.array([1.0, 3.0, 2.0]), u)


@pytest.mark.parametrize("chosen", [random_argmax, compiled_argmax], ids=["plain", "compiled"])
def test_ties_share_the_unit_interval_equally(chosen):
    values = np.array([2.0, 1.0, 2.0, 2.0])
    assert [chosen(values, u) for u in (0.0, 0.33, 0.34, 0.66, 0.67, np.nextafter(1, 0))] == [0, 0, 2, 2, 3, 3]
    assert [chosen(np.zeros(4), u) for u in (0.0, 0.25, 0.5, 0.75)] == [0, 1, 2, 3]


@pytest.mark.parametrize("chosen", [random_argmax, compiled_argmax], ids=["plain", "compiled"])
def test_ties_are_within_a_tolerance_relative_to_the_largest(chosen):
    last = np.nextafter(1, 0)
    for scale in (1e-300, 1e-20, 1e-3, 1.0, 1e3):
        assert chosen(np.array([scale, scale * (1 - 0.9e-12)]), last) == 1
        assert chosen(np.array([scale, scale * (1 - 1.2e-12)]), last) == 0
        assert chosen(np.array([-scale, -scale * (1 + 0.9e-12)]), last) == 1
        assert chosen(np.array([-scale, -scale * (1 + 1.2e-12)]), last) == 0
    assert chosen(np.array([-5.0, -5.0, -7.0]), last) == 1
    assert chosen(np.array([0.0, 0.0, -1e-300]), last) == 1  # zero is tied with zero only


def test_the_tolerance_is_one_number():
    assert TIE_TOLERANCE == 1e-12


def test_greedy():
    here = view(utility=[[1.0, 0.0], [0.5, 2.0]])
    assert Greedy().choose(here, 0, U) == 0 and Greedy().choose(here, 1, U) == 1


def test_uniform_choice_cuts_the_unit_interval():
    assert [UniformChoice().choose(view(), 0, np.array([u, 0.0])) for u in (0.0, 0.49, 0.5, 0.99)] == [0, 0, 1, 1]


def test_least_taken():
    taken = view(counts=[[[2, 1], [0, 0]], [[1, 1], [1, 0]]])
    assert LeastTaken().choose(taken, 0, U) == 1  # two times against three
    assert LeastTaken().choose(taken, 1, U) == 0  # never against once


def test_counter_based_goes_where_it_has_been_least():
    assert CounterBased().choose(view(visits=(5, 2)), 0, U) == 1
    assert CounterBased().choose(view(visits=(5, 9)), 0, U) == 0
    unsure = [[[0.5, 0.5], [1, 0]], [[0.9, 0.1], [0, 1]]]  # 3.5 expected against 4.7
    assert CounterBased().choose(view(theta_hat=unsure, visits=(5, 2)), 0, U) == 0


def test_value_iteration_by_hand():
    """Action 0 stays in state 0 for 1 each; action 1 goes to state 1, where every step is worth 3."""
    here = view(utility=[[1.0, 0.0], [0.0, 3.0]])
    assert ValueIteration(steps_back=0).action_values(here).tolist() == [[1, 0], [0, 3]]
    assert ValueIteration(steps_back=1).action_values(here).tolist() == [[2, 1], [3, 6]]
    assert ValueIteration(steps_back=2).action_values(here).tolist() == [[4, 3], [6, 9]]
    assert ValueIteration(steps_back=1, gamma=0.5).action_values(here).tolist() == [[1.5, 0.5], [1.5, 4.5]]
    assert ValueIteration(steps_back=0).choose(here, 0, U) == 0
    assert ValueIteration(steps_back=1).choose(here, 0, U) == 1


def test_value_iteration_without_discount_has_eleven_terms():
    assert ValueIteration().action_values(view(utility=np.ones((2, 2)))).tolist() == [[11, 11], [11, 11]]


def test_knowing_world_is_its_inner_method_and_says_so():
    here = view(utility=[[1.0, 0.0], [0.0, 3.0]])
    knowing = TrueModel(ValueIteration(steps_back=1))
    assert knowing.sees_world and knowing.choose(here, 0, U) == 1


def test_q_learning_by_hand():
    method, here = QLearning(learning_rate=0.5, gamma=0.9, epsilon=0.1, initial=1.0), view()
    method.start(here)
    method.learn(here, 0, 1, 1, 2.0)  # 1 + 0.5 (2 + 0.9 * 1 - 1)
    assert here.memory.tolist() == [[1.0, 1.0], [pytest.approx(1.95), 1.0]]
    method.learn(here, 1, 0, 0, 0.0)  # 1 + 0.5 (0.9 * 1.95 - 1)
    assert here.memory[0, 1] == pytest.approx(1.3775)
    assert method.choose(here, 0, np.array([0.0, 0.1])) == 1  # not below epsilon: the best
    assert method.choose(here, 0, np.array([0.0, 0.0999])) == 0  # below it: any


def test_relocating_takes_the_best_pair_and_breaks_ties_by_state():
    utility = [[0.0, 4.0], [4.0, 1.0]]
    pairs = [Relocating().choose_pair(view(utility), np.array([u, 0.0])) for u in (0.0, 0.5)]
    assert pairs == [(0, 1), (1, 0)]
    with raises(ValueError, "Unembodied", "choose_pair"):
        Relocating().choose(view(utility), 0, U)


def test_the_tournament_of_rows_finds_what_a_scan_finds():
    """Leaves that are padding, many ties, and values that rise and fall."""
    rng = np.random.default_rng(0)
    for n_rows in (1, 2, 3, 8, 11, 64):
        utility = rng.integers(0, 4, size=n_rows).astype(float)
        utility[rng.random(n_rows) < 0.2] = -np.inf
        utility[0] = 0.0
        n_nodes = 2 << (n_rows - 1).bit_length()
        tree = argmax.new_tree(n_nodes)
        grow_tree(tree, utility, np.ones(len(utility), dtype=bool))
        for _ in range(200):
            u = rng.random()
            assert best_row(tree, u) == random_argmax(utility, u)
            row = int(rng.choice(np.flatnonzero(utility > -np.inf)))
            utility[row] = float(rng.integers(-2, 4))
            update_tree(tree, row, utility[row])


def test_methods_are_coordinations():
    methods = (UniformChoice, LeastTaken, CounterBased, Greedy, ValueIteration, TrueModel, QLearning, Relocating)
    assert all(isinstance(method(), Coordination) for method in methods)


def test_the_tournament_is_right_where_ties_are_not_transitive():
    """Each value is tied with the next, but the first not with the last."""
    rng = np.random.default_rng(1)
    for spread in (1e-13, 4e-13, 1.2e-12, 1e-11):
        utility = 1.0 + spread * rng.integers(-6, 1, size=23)
        tree = argmax.new_tree(64)
        grow_tree(tree, utility, np.ones(len(utility), dtype=bool))
        for _ in range(400):
            u = rng.random()
            assert best_row(tree, u) == random_argmax(utility, u)
            row = int(rng.integers(len(utility)))
            utility[row] = 1.0 + spread * rng.integers(-6, 1)
            update_tree(tree, row, utility[row])
        assert tree.ties[1] == np.count_nonzero(utility >= utility.max() * (1 - 1e-12))
