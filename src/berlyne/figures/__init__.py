"""Draw worlds, models, runs, results and labelled datasets with matplotlib.

This package only draws its arguments: it runs no experiments and computes no ranks or verdicts.
`berlyne.paper.reproduction.figure_list` lists the figures of the paper. Importing this package imports matplotlib.
"""

from berlyne.figures.animation import animate_run
from berlyne.figures.behaviour import (
    draw_confusion,
    draw_differences,
    draw_frequencies,
    draw_predictive,
    draw_profile,
    draw_recovery,
    draw_separation,
    draw_weights,
)
from berlyne.figures.benchmark import (
    draw_benchmark_curves,
    draw_cost_and_quality,
    draw_interquartile_means,
    draw_performance_profiles,
)
from berlyne.figures.cards import card
from berlyne.figures.concentration import draw_concentration
from berlyne.figures.curves import draw_bands, draw_bound, draw_curves, draw_run
from berlyne.figures.false_priors import draw_false_priors
from berlyne.figures.figure_data import Drawing
from berlyne.figures.graph import draw_graph
from berlyne.figures.maps import draw_explorer, draw_model, draw_world
from berlyne.figures.maze import draw_maze, draw_maze_and_rows, shade_rooms
from berlyne.figures.maze import example_rows as telling_rows
from berlyne.figures.path import draw_path
from berlyne.figures.person_runs import draw_person_runs
from berlyne.figures.prediction import draw_prediction
from berlyne.figures.ranks import draw_ranks, draw_ranks_by_time
from berlyne.figures.sensitivity import draw_sensitivity
from berlyne.figures.structure import draw_index_by_length, draw_structure

__all__ = [
    "Drawing",
    "animate_run",
    "card",
    "draw_bands",
    "draw_benchmark_curves",
    "draw_bound",
    "draw_concentration",
    "draw_confusion",
    "draw_cost_and_quality",
    "draw_curves",
    "draw_differences",
    "draw_explorer",
    "draw_false_priors",
    "draw_frequencies",
    "draw_graph",
    "draw_index_by_length",
    "draw_interquartile_means",
    "draw_maze",
    "draw_maze_and_rows",
    "draw_model",
    "draw_path",
    "draw_performance_profiles",
    "draw_person_runs",
    "draw_prediction",
    "draw_predictive",
    "draw_profile",
    "draw_ranks",
    "draw_ranks_by_time",
    "draw_recovery",
    "draw_run",
    "draw_sensitivity",
    "draw_separation",
    "draw_structure",
    "draw_weights",
    "draw_world",
    "shade_rooms",
    "telling_rows",
]
