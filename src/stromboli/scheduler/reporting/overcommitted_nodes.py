"""Reports over-committed nodes: a metric, and an event on each node when it becomes one.

There is no condition on the node: that would need the right to patch the status of nodes, with which a scheduler could
mark any node as unusable.
"""

from __future__ import annotations

import logging

from stromboli.cluster.state.assumptions import Assumptions
from stromboli.core.model.ledger.overcommitted import overcommitted
from stromboli.core.model.resources.resources import short_name
from stromboli.core.session.session import Session
from stromboli.kube.objects.event import ObjectReference
from stromboli.observability.metrics.scheduler import SchedulerMetrics
from stromboli.scheduler.reporting.announcer import EventAnnouncer

log = logging.getLogger("stromboli.scheduler")


class OvercommittedNodes:
    def __init__(self, assumptions: Assumptions, metrics: SchedulerMetrics, announcer: EventAnnouncer) -> None:
        self._assumptions = assumptions
        self._metrics = metrics
        self._announcer = announcer

    def report(self, session: Session) -> None:
        """Report the nodes of a cycle; those that were reported before are only counted."""
        found = {session.nodes.names[row]: missing for row, missing in overcommitted(session.ledger).items()}
        self._metrics.set_overcommitted_nodes(len(found))
        known = self._assumptions.overcommitted
        self._assumptions.overcommitted = {name: known.get(name, session.now) for name in found}
        for name in sorted(found.keys() - known.keys()):
            lacks = ", ".join(short_name(session.axis.names[dimension]) for dimension in sorted(found[name]))
            note = f"pods on the node request more {lacks} than it offers: another scheduler uses it, or it has shrunk"
            log.warning("node over-committed", extra={"node": name, "resources": lacks})
            self._announcer.node_overcommitted(ObjectReference(api_version="v1", kind="Node", name=name), note)
