"""The common benchmark of explorers that seek no reward: worlds, common measures, runs and reports."""

from berlyne.benchmarks.report import report
from berlyne.benchmarks.running import AGENTS, TUNED, check, experiment, run
from berlyne.benchmarks.scores import Scoreboard
from berlyne.benchmarks.suite import Suite, Task, suite

__all__ = ["AGENTS", "TUNED", "Scoreboard", "Suite", "Task", "check", "experiment", "report", "run", "suite"]
