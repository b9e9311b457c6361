"""Labels in drawings of worlds."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np

from berlyne import Dirichlet, InternalModel, World, explore, figures, strategy
from berlyne.figures.animation import _Film, frame_times
from berlyne.figures.map_layout import short_label


def test_a_graph_shows_labels_and_without_counts_from_one():
    theta = np.array([[[0.5, 0.5], [1.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]]])
    drawn = figures.draw_graph(World(theta, states=["red", ("b", 1)], actions=["go", "stay"]))
    ax, other = drawn.figure.axes[:2]
    assert [text.get_text() for text in ax.texts if text.get_text() in ("red", "('b', 1)")] == ["red", "('b', 1)"]
    assert (ax.get_title(), other.get_title()) == ("action go", "action stay")
    assert drawn.lines[0] == ("go", "red", "red", 0.5) and drawn.lines[2] == ("go", ("b", 1), "red", 1.0)
    plain = figures.draw_graph(World(theta))
    assert {"1", "2"} <= {text.get_text() for text in plain.figure.axes[0].texts}
    assert plain.lines[2] == (0, 1, 0, 1.0)


def test_names_with_dollars_are_written_as_they_are():
    name = "$\\foo{$"
    prior = Dirichlet(1.0, n_states=2, n_actions=1)
    world = World(np.full((1, 2, 2), 0.5), prior, name=name, states=[name, "b"], actions=[name])
    own = replace(strategy("Random"), name=name)
    run = explore(world, own, n_steps=3)
    ax = run.plot()
    ax.figure.draw_without_rendering()
    assert (ax.get_title(), ax.get_legend().get_texts()[0].get_text()) == (name, name)
    for drawn in (world.plot(), run.plot_path(), run.model.plot(), run.model.plot("PIG")):
        drawn.figure.draw_without_rendering()
    figures.draw_graph(world).figure.draw_without_rendering()
    _Film(run, frame_times(3), 2, "visits", None).show(1)
    many = InternalModel(Dirichlet(1.0, n_states=61, n_actions=1), actions=[name]).plot("PIG")
    many.figure.draw_without_rendering()
    assert many.get_yticklabels()[0].get_text() == name
    plt.close("all")


def test_tuples_are_written_as_on_the_page():
    world = World(np.full((1, 2, 2), 0.5), states=[(0, 0), ("b", 1)])
    assert [short_label(world.state_labels, s) for s in range(2)] == ["(0, 0)", "('b', 1)"]
    assert short_label(world.state_labels, 1, 4) == "('b…"
