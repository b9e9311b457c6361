"""Labels in pictures of worlds."""

import numpy as np

from berlyne import World, figures


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
