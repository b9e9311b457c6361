"""berlyne: a laboratory for learning-driven exploration.

After Little & Sommer, *Learning in embodied action-perception loops through exploration*. `berlyne.figures`,
`berlyne.stats`, `berlyne.claims` and `berlyne.tasks` are imported when they are first used.
"""

from typing import TYPE_CHECKING

from berlyne.env_run import EnvRun, ExplorationError
from berlyne.environments import explore_env
from berlyne.experiments import Experiment, Results, open_results
from berlyne.explore import Run, explore
from berlyne.explorer import Explorer
from berlyne.information import entropy, information_gain, kl_divergence, l1_distance, missing_information
from berlyne.lab import LabBook
from berlyne.model import InternalModel
from berlyne.priors import ChineseRestaurant, Dirichlet, OneTwoThree, Prior, fit_alpha, fit_c
from berlyne.registering import register_when_imported
from berlyne.replay import replay
from berlyne.strategies import STRATEGIES, Strategy, strategy
from berlyne.tabled import from_gymnasium
from berlyne.utilities import UTILITIES, novelty, peig, pig, plc, pmc
from berlyne.watch import watch
from berlyne.worlds import (
    World,
    dense_world,
    double_chain_kaufmann,
    double_chain_russo,
    four_rooms,
    grid_world,
    is_ergodic,
    load_world,
    maze,
    maze_from_text,
    noisy_tv,
    one_two_three_world,
    river_swim,
    storck,
)

__version__ = "0.1.0"

register_when_imported()

_LATER = ("claims", "figures", "stats", "tasks")
"""Modules that `import berlyne` is enough for, although it does not import them."""

if TYPE_CHECKING:
    from berlyne import claims as claims
    from berlyne import figures as figures
    from berlyne import stats as stats
    from berlyne import tasks as tasks
else:

    def __getattr__(name: str) -> object:
        """One of the modules that are imported on first use."""
        if name in _LATER:
            import importlib

            return importlib.import_module(f"berlyne.{name}")
        import sys

        raise AttributeError(f"module 'berlyne' has no attribute {name!r}", name=name, obj=sys.modules["berlyne"])


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})


__all__ = [
    "STRATEGIES",
    "UTILITIES",
    "ChineseRestaurant",
    "Dirichlet",
    "EnvRun",
    "Experiment",
    "ExplorationError",
    "Explorer",
    "InternalModel",
    "LabBook",
    "OneTwoThree",
    "Prior",
    "Results",
    "Run",
    "Strategy",
    "World",
    "dense_world",
    "double_chain_kaufmann",
    "double_chain_russo",
    "entropy",
    "explore",
    "explore_env",
    "fit_alpha",
    "fit_c",
    "four_rooms",
    "from_gymnasium",
    "grid_world",
    "information_gain",
    "is_ergodic",
    "kl_divergence",
    "l1_distance",
    "load_world",
    "maze",
    "maze_from_text",
    "missing_information",
    "noisy_tv",
    "novelty",
    "one_two_three_world",
    "open_results",
    "peig",
    "pig",
    "plc",
    "pmc",
    "replay",
    "river_swim",
    "storck",
    "strategy",
    "watch",
]
