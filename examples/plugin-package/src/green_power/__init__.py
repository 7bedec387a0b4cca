"""green-power: prefer nodes whose label says that they run on green power."""

import numpy as np

from stromboli.core.config.arguments import Argument, Arguments
from stromboli.core.config.plugin import Plugin
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Vector
from stromboli.core.model.tasks.selectors import Requirement
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.search.node_rules import Locality

GREEN = Requirement("power", "In", ("green",))


class GreenPowerArguments(Arguments):
    weight: float = Argument("green-power.weight", 1.0, "Weight of the preference; 0 switches it off.", minimum=0)


class GreenPower(Plugin):
    """100 points times the weight for every node with the label `power=green`, 0 for the others."""

    name = "green-power"
    arguments = GreenPowerArguments()
    locality = Locality.STATIC  # labels do not change during a cycle: ask once per class and keep the answer

    def node_order(self, task_class: TaskClass, rows: Rows) -> Vector:
        return np.where(rows.nodes.holding(GREEN), 100.0 * self.arguments.weight, 0.0)
