"""A utility without a closed form for a prior falls back to its definition, and the others do not."""

import numpy as np
import pytest

from berlyne import Dirichlet, Explorer, InternalModel, explore, maze, pig, plc, pmc

ASKED: list[str] = []


class Partial(Dirichlet):
    """A Dirichlet prior without a closed form of PMC and PLC."""

    def utility(self, name, counts):
        return super().utility(self._known(name), counts)

    def row_utility(self, name, counts, a, s, last):
        return super().row_utility(self._known(name), counts, a, s, last)

    @staticmethod
    def _known(name):
        ASKED.append(name)
        if name in ("PMC", "PLC"):
            raise KeyError(name)
        return name


WORLD = maze(1, side=3, n_transporters=4)


@pytest.mark.parametrize("utility", [pig, pmc, plc], ids=lambda utility: utility.__name__)
def test_all_rows_are_valued_as_with_closed_forms(utility):
    models = [InternalModel(prior) for prior in (Partial(0.25, WORLD.prior.support), WORLD.prior)]
    for model in models:
        model.observe_many(explore(WORLD, "Random", n_steps=60).history)
    np.testing.assert_allclose(*(utility(model) for model in models), rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("name", ["PIG(VI)", "PMC(VI)", "PLC(greedy)"])
def test_explorers_value_rows_as_with_closed_forms(name):
    explorers = [Explorer(prior, name) for prior in (Partial(0.25, WORLD.prior.support), WORLD.prior)]
    for s, a, s_next in explore(WORLD, "Random", n_steps=40).history:
        for explorer in explorers:
            explorer.observe(s, a, s_next)
        np.testing.assert_allclose(*(explorer.utility() for explorer in explorers), rtol=1e-9, atol=1e-14)


def test_a_closed_form_is_used_if_there_is_one():
    ASKED.clear()
    explorer = Explorer(Partial(0.25, WORLD.prior.support), "PIG(greedy)")
    explorer.observe(0, 0, int(WORLD.prior.support.row(0, 0)[0]))
    assert set(ASKED) == {"PIG"}
