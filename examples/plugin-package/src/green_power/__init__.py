"""green-power: prefer nodes whose label marks them as running on green power."""

import numpy as np

from stromboli.api import Argument, Arguments, Locality, Plugin, Requirement, Rows, Scores, TaskClass

GREEN = Requirement("power", "In", ("green",))


class GreenPowerArguments(Arguments):
    weight: float = Argument("green-power.weight", 1.0, "Weight of the preference; 0 switches it off.", minimum=0)


class GreenPower(Plugin):
    """100 points times the weight for every node with the label `power=green`, 0 for the others."""

    name = "green-power"
    arguments = GreenPowerArguments()
    locality = Locality.STATIC  # labels do not change during a cycle: evaluated once per class and cached

    def node_order(self, task_class: TaskClass, rows: Rows) -> Scores:
        return np.where(rows.nodes.holding(GREEN), 100.0 * self.arguments.weight, 0.0)
