"""green-power: prefer nodes whose label says that they run on green power."""

from stromboli.framework.arguments import Argument
from stromboli.framework.node_rules import Locality
from stromboli.framework.plugin import Plugin
from stromboli.model.books import Rows
from stromboli.model.nodes import Vector
from stromboli.model.selectors import Requirement
from stromboli.model.task_class import TaskClass

GREEN = Requirement("power", "In", ("green",))


class GreenPower(Plugin):
    """100 points times the weight for every node with the label `power=green`, 0 for the others."""

    name = "green-power"
    arguments = (Argument("green-power.weight", float, 1.0, "Weight of the preference; 0 switches it off.", minimum=0),)
    locality = Locality.STATIC  # labels do not change during a cycle: ask once per class and keep the answer

    def node_order(self, task_class: TaskClass, rows: Rows) -> Vector:
        return rows.nodes.holding(GREEN) * (100.0 * self.given["green-power.weight"])
