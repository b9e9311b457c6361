"""Fixtures for the tests of figures."""

import matplotlib.pyplot as plt
import pytest


@pytest.fixture(autouse=True)
def no_figure_is_left():
    yield
    plt.close("all")
