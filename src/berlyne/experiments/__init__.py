"""Many worlds, many strategies: described, run, interrupted, resumed, grown and read."""

from berlyne.experiments.results import Results, open_results
from berlyne.experiments.settings import Experiment

__all__ = ["Experiment", "Results", "open_results"]
