"""Hypothesis runs the same examples every time, so that a red test stays red; control-C is never ignored; and tests
of which none was run are not green.

A shell that starts tests in the background lets them ignore it, and so all that they start.
"""

import signal

import pytest
from hypothesis import settings

signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("berlyne", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("berlyne")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    """Processes that crash while they collect may leave nothing run, and no failure."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    here = not hasattr(session.config, "workerinput")
    if here and exitstatus == 0 and not session.config.option.collectonly and not reporter.stats.get("passed"):
        session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED
