"""Collect what Dask leaves, so that no other test sees it."""

import gc
import warnings

import pytest


@pytest.fixture(autouse=True)
def collect_dask_garbage():
    """Collect garbage after each test that uses Dask.

    After a failed connection, and after a process that was killed, Dask leaves sockets and event loops to the garbage
    collector. They would be reported as unclosed in whichever test runs when it collects them.
    """
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        for _ in range(2):  # a destructor may leave more garbage
            gc.collect()
