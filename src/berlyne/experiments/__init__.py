"""Experiments with many worlds and strategies: describe, run, resume, extend, shard, merge and read them."""

from berlyne.experiments.measures import Measure
from berlyne.experiments.merge_stores import merge
from berlyne.experiments.results import Results, open_results
from berlyne.experiments.spec import Experiment

__all__ = ["Experiment", "Measure", "Results", "merge", "open_results"]
