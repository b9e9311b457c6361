"""berlyne: a laboratory for learning-driven exploration.

Based on Little & Sommer, *Learning in embodied action-perception loops through exploration*. `berlyne.bounds`,
`berlyne.figures`, `berlyne.stats`, `berlyne.claims` and `berlyne.tasks` are imported when they are first used.
"""

from typing import TYPE_CHECKING

from berlyne.experiments import Experiment, Results, open_results
from berlyne.exploration.explore import explore
from berlyne.exploration.explore_env import ExplorationError, explore_env
from berlyne.exploration.explorer import Explorer
from berlyne.exploration.logbook import LabBook
from berlyne.exploration.replay import replay
from berlyne.exploration.run import Run
from berlyne.exploration.trials import trials
from berlyne.information import entropy, information_gain, kl_divergence, l1_distance, missing_information
from berlyne.models.internal_model import InternalModel
from berlyne.priors import (
    ChineseRestaurant,
    Dirichlet,
    OneTwoThree,
    Prior,
    Refit,
    SharedDirichlet,
    SharedRestaurant,
    fit_alpha,
    fit_c,
)
from berlyne.strategies.indices import index
from berlyne.strategies.own_methods import method
from berlyne.strategies.registry import STRATEGIES, Strategy
from berlyne.strategies.registry import get_strategy as strategy
from berlyne.strategies.utilities import TWO_NOVELTIES, UTILITIES, parameter_gain, peig, pig, plc, pmc
from berlyne.watch import read_runs, watch
from berlyne.worlds import (
    World,
    deep_sea,
    dense_world,
    double_chain_kaufmann,
    double_chain_russo,
    forked_river_swim,
    four_rooms,
    garnet,
    grid_world,
    is_ergodic,
    labels_of,
    load_world,
    maze,
    maze_from_text,
    n_arms,
    n_room,
    noisy_tv,
    one_two_three_world,
    river_swim,
    storck,
)
from berlyne.worlds.from_gymnasium import from_gymnasium

__version__ = "0.1.0"

_LAZY_MODULES = ("benchmarks", "bounds", "claims", "figures", "stats", "tasks")
"""Modules that are available after `import berlyne`, but are imported on first use."""

if TYPE_CHECKING:
    from berlyne import benchmarks as benchmarks
    from berlyne import bounds as bounds
    from berlyne import figures as figures
    from berlyne import stats as stats
    from berlyne import tasks as tasks
    from berlyne.paper import claims as claims
else:

    def __getattr__(name: str) -> object:
        """Import and return one of the lazy modules."""
        if name in _LAZY_MODULES:
            import importlib

            return importlib.import_module(f"berlyne.{name}")
        import sys

        reason = f"; {TWO_NOVELTIES}" if name == "novelty" else ""
        message = f"module 'berlyne' has no attribute {name!r}{reason}"
        raise AttributeError(message, name=name, obj=sys.modules["berlyne"])


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY_MODULES})


__all__ = [
    "STRATEGIES",
    "UTILITIES",
    "ChineseRestaurant",
    "Dirichlet",
    "Experiment",
    "ExplorationError",
    "Explorer",
    "InternalModel",
    "LabBook",
    "OneTwoThree",
    "Prior",
    "Refit",
    "Results",
    "Run",
    "SharedDirichlet",
    "SharedRestaurant",
    "Strategy",
    "World",
    "deep_sea",
    "dense_world",
    "double_chain_kaufmann",
    "double_chain_russo",
    "entropy",
    "explore",
    "explore_env",
    "fit_alpha",
    "fit_c",
    "forked_river_swim",
    "four_rooms",
    "from_gymnasium",
    "garnet",
    "grid_world",
    "index",
    "information_gain",
    "is_ergodic",
    "kl_divergence",
    "l1_distance",
    "labels_of",
    "load_world",
    "maze",
    "maze_from_text",
    "method",
    "missing_information",
    "n_arms",
    "n_room",
    "noisy_tv",
    "one_two_three_world",
    "open_results",
    "parameter_gain",
    "peig",
    "pig",
    "plc",
    "pmc",
    "read_runs",
    "replay",
    "river_swim",
    "storck",
    "strategy",
    "trials",
    "watch",
]
