"""Host ports that other pods of the node hold."""

from __future__ import annotations

import numpy as np

from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Mask
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.tasks.task_class import HostPort, TaskClass
from stromboli.core.search.class_cache import ClassCache
from stromboli.core.search.node_rules import Locality, NodeFilter

_REASON = Reason(Code.HOST_PORT, "node(s) didn't have free ports for the requested pod ports")


class HostPorts(NodeFilter):
    """No pod of the node may hold a port that collides with one the class asks for."""

    locality = Locality.ROW

    def __init__(self) -> None:
        self._colliding = ClassCache(_colliding)

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return bool(task_class.ports)

    def filter(self, task_class: TaskClass, rows: Rows, ledger: Ledger) -> Mask:
        free = np.ones(len(rows), dtype=np.bool_)
        for port in self._colliding.of(task_class, ledger):
            users = rows.port_users(port)
            if users is not None:
                free &= users == 0
        return free

    def refusal(self, task_class: TaskClass) -> Reason:
        return _REASON


def _colliding(task_class: TaskClass, ledger: Ledger) -> tuple[HostPort, ...]:
    """Return every used port, its own included, that conflicts with a port of the class."""
    known = ledger.all_rows.known_ports()
    return tuple(port for port in known if any(port.collides_with(own) for own in task_class.ports))
