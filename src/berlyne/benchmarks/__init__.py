"""The common benchmark of explorers that seek no reward: worlds, common measures, runs and reports."""

from berlyne.benchmarks.running import AGENTS, check, experiment, run
from berlyne.benchmarks.suite import Suite, Task, suite

__all__ = ["AGENTS", "Suite", "Task", "check", "experiment", "run", "suite"]
