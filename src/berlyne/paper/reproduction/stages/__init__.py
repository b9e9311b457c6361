"""Stages computed after the explorations, one module each, so that each depends only on the sources that it imports."""

from berlyne.paper.reproduction.stages.base import Stage
from berlyne.paper.reproduction.stages.gains import Gains
from berlyne.paper.reproduction.stages.learned import Learned
from berlyne.paper.reproduction.stages.lengths import Lengths
from berlyne.paper.reproduction.stages.sensitivity import Sensitivity
from berlyne.paper.reproduction.stages.structure import Structure
from berlyne.paper.reproduction.stages.tasks import Tasks

STAGES: dict[str, Stage] = {
    stage.name: stage for stage in (Structure(), Gains(), Tasks(), Learned(), Lengths(), Sensitivity())
}
"""Stages computed after the explorations, in this order."""
