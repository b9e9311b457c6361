"""People's exploration: fit, compare, recover and predict their choices (`import berlyne.behaviour as bb`)."""

from berlyne.behaviour.comparison import Comparison, CrossValidation, Difference, compare, cv
from berlyne.behaviour.data import Data, read
from berlyne.behaviour.fitting import Fit, fit
from berlyne.behaviour.model_selection import ModelFrequencies, bms
from berlyne.behaviour.prediction import Predictive, predictive
from berlyne.behaviour.recovery import Confusion, Recovery, confuse, recover
from berlyne.behaviour.separation import Separation, separate
from berlyne.behaviour.settings import crp, grid
from berlyne.behaviour.simulation import Simulation, simulate
from berlyne.behaviour.terms import Model, bias, habit, lapse, model, repeat

__all__ = [
    "Comparison",
    "Confusion",
    "CrossValidation",
    "Data",
    "Difference",
    "Fit",
    "Model",
    "ModelFrequencies",
    "Predictive",
    "Recovery",
    "Separation",
    "Simulation",
    "bias",
    "bms",
    "compare",
    "confuse",
    "crp",
    "cv",
    "fit",
    "grid",
    "habit",
    "lapse",
    "model",
    "predictive",
    "read",
    "recover",
    "repeat",
    "separate",
    "simulate",
]
