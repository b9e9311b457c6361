"""People's exploration: fit, compare, recover and predict their choices (`import berlyne.behaviour as bb`)."""

from berlyne.behaviour.comparison import Comparison, CrossValidation, Difference, compare, cv
from berlyne.behaviour.data import Data, read
from berlyne.behaviour.fit import Fit, fit
from berlyne.behaviour.model_selection import ModelFrequencies, bms
from berlyne.behaviour.settings import crp, grid
from berlyne.behaviour.terms import Model, bias, habit, lapse, model, repeat

__all__ = [
    "Comparison",
    "CrossValidation",
    "Data",
    "Difference",
    "Fit",
    "Model",
    "ModelFrequencies",
    "bias",
    "bms",
    "compare",
    "crp",
    "cv",
    "fit",
    "grid",
    "habit",
    "lapse",
    "model",
    "read",
    "repeat",
]
