"""Settings for all tests.

Hypothesis runs the same examples every time, so that a failing test stays failing. Ctrl-C is never ignored, although a
shell that starts tests in the background lets them and their processes ignore it. A run in which no test was executed
fails. Linear algebra runs in one thread: matrices are small, and the threads of busy processes would mostly wait for
each other, and compute while they wait. Every test has a time limit. Collecting is quick, because every process of
pytest-xdist collects all tests.

Without the option `--full`, only a part of the cases of tests that are marked `pairwise` runs, and tests that ask
`amounts` do less.
"""

import faulthandler
import gc
import math
import os
import signal
from itertools import groupby

import pytest
from hypothesis import settings

# Read when NumPy is imported: by the processes of pytest-xdist and by those that tests start. In one process (`-n 0`) a
# plugin of pytest has imported NumPy before.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import amounts
from berlyne.experiments import run
from pairwise import numbered, select

signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("berlyne", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("berlyne")

run.THREAD_SECONDS = math.inf  # so that a study is computed here, however busy the machine; test_jobs.py sets it


SLOW = 900
"""Seconds for a test that is marked slow; `timeout` in pyproject.toml is for the others."""


STDERR = pytest.StashKey[int]()
"""Where stacks are written: not what a test prints, which is lost with its process."""


def pytest_configure(config):
    config.stash[STDERR] = os.dup(2)
    amounts.IS_FULL = config.option.full


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_set_timer(item, settings):
    """On expiry, write the stacks of all threads and end the process.

    The methods of pytest-timeout do not suffice. Its signal raises an exception, which is lost in a destructor and
    waits for a kernel to return. Its thread writes the stacks to where pytest-xdist drops them.
    """
    faulthandler.dump_traceback_later(settings.timeout, exit=True, file=item.config.stash[STDERR])
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_cancel_timer(item):
    """The test has ended in time."""
    faulthandler.cancel_dump_traceback_later()
    return True


def pytest_addoption(parser):
    parser.addoption("--full", action="store_true", help="run all cases of pairwise tests, and full amounts")


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Collect tests without looking for garbage, and never look at them and at imported modules again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path, parent):
    """Look for examples in docstrings only in the package, not in tests."""
    collectors = yield
    return [one for one in collectors if type(one) is pytest.Module]


def pytest_collection_modifyitems(config, items):
    """Give slow tests more time, unless they say how much they need; select the cases of pairwise tests."""
    for item in items:
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SLOW))
    if not config.option.full:
        deselected = {item for item in items if item.get_closest_marker("pairwise")} - set(pairwise_cover(items))
        config.hook.pytest_deselected(items=sorted(deselected, key=lambda item: item.nodeid))
        items[:] = [item for item in items if item not in deselected]


def pairwise_cover(items):
    """Yield the cases to run of each test that is marked pairwise; all of them if they were named one by one."""
    for _, group in groupby(items, key=lambda item: getattr(item, "function", None)):
        cases = list(group)
        if cases[0].get_closest_marker("pairwise"):
            selected = select(numbered([case.callspec.params for case in cases])) if len(cases) > 1 else [True]
            yield from (case for case, is_selected in zip(cases, selected, strict=True) if is_selected)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    """Processes that crash while they collect may leave nothing run, and no failure."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    here = not hasattr(session.config, "workerinput")
    if here and exitstatus == 0 and not session.config.option.collectonly and not reporter.stats.get("passed"):
        session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED
