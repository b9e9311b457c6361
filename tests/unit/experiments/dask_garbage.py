"""Collect what Dask leaves, so that no other test sees it."""

import gc
import warnings

import pytest


@pytest.fixture(scope="module")
def earlier_objects_frozen():
    """The garbage collector never looks again at the millions of objects that earlier tests have left."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def collect_dask_garbage(earlier_objects_frozen):
    """Collect garbage after each test that uses Dask.

    After a failed connection, and after a process that was killed, Dask leaves sockets and event loops to the garbage
    collector. They would be reported as unclosed in whichever test runs when it collects them.
    """
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        for _ in range(2):  # a destructor may leave more garbage
            gc.collect()
    gc.freeze()  # nor at what this test has imported
