"""Hypothesis runs the same examples every time, so that a red test stays red; control-C is never ignored.

A shell that starts tests in the background lets them ignore it, and so all that they start.
"""

import signal

from hypothesis import settings

signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("berlyne", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("berlyne")
