"""A cluster whose scheduler keeps statuses and events instead of writing them."""

from typing import Any, cast

import msgspec

from stromboli import kube
from stromboli.cluster.standard_queues import standard_queues
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.kube.events.recorder import EventRecorder
from stromboli.kube.work.status_writer import DesiredStatus, StatusWriter
from stromboli.scheduler.reporting.announcer import EventAnnouncer
from stromboli.scheduler.reporting.reporter import StatusReporter
from tests.testing.cases.case import PLAIN, SCHEDULER_NAMES, flattened, objects
from tests.testing.random_clusters.engine import program_of

KEY = "default/gang"
_REFRESH = 10.0


class ReportedCluster:
    """A cluster whose scheduler keeps statuses and events instead of writing them."""

    def __init__(self, *manifests: Any, conf: str = PLAIN) -> None:
        self.program: Program = program_of(conf)
        self.cluster = Cluster(SCHEDULER_NAMES)
        #: Reasons and notes of events, by PodGroup.
        self.notes: dict[str, list[tuple[str, str]]] = {}
        #: The messages of the condition of the PodGroup, one for each change.
        self.messages: list[str] = []
        #: Pods with an event that they are unschedulable.
        self.unschedulable_pods: list[str] = []
        self._desired: list[DesiredStatus] = []
        self.now = 0.0
        self._reporter = StatusReporter(
            self.cluster,
            cast(StatusWriter, self),
            EventAnnouncer(cast(EventRecorder, self)),
            refresh=_REFRESH,
            clock=lambda: self.now,
        )
        for each in standard_queues():
            self.cluster.apply(each)
        self.apply(*manifests)

    def apply(self, *manifests: Any) -> None:
        for entry in objects(list(flattened(manifests))):
            self.cluster.apply(entry)

    def remove(self, *manifests: Any) -> None:
        for entry in objects(list(flattened(manifests))):
            self.cluster.remove(entry)

    def requeue_due(self) -> bool:
        return self._reporter.requeue_due()

    def cycle(self, seconds: float = 2 * _REFRESH) -> Session:
        """Run one cycle, report it, and let time pass, by default so much that messages are refreshed."""
        session = Session(self.cluster.snapshot(), self.program)
        session.run()
        self._reporter.report(session)
        self._write()
        self.now += seconds
        return session

    # -- the writer ---------------------------------------------------------------------------------------------

    def want(self, desired: DesiredStatus) -> None:
        if desired.key == KEY:
            self._desired.append(desired)

    def has_begun(self, *_: object) -> bool:
        """No status is on its way between cycles."""
        return False

    def _write(self) -> None:
        """Write the statuses after the cycle, as the writer does."""
        for desired in self._desired:
            written = self.cluster.groups[KEY]
            conditions = (desired.make(written) or {}).get("status", {}).get("conditions", ())
            self.messages += [each["message"] for each in conditions if "message" in each and each["status"] == "True"]
            if conditions:
                written.status.conditions = msgspec.convert(conditions, list[kube.PodGroupCondition])
        self._desired.clear()

    def withdraw(self, resource: object, key: str) -> None:
        pass

    # -- the recorder -------------------------------------------------------------------------------------------

    def record(self, regarding: Any, *, reason: str, note: str, **_: object) -> None:
        if regarding.kind == "PodGroup":
            self.notes.setdefault(f"{regarding.namespace}/{regarding.name}", []).append((reason, note))
        elif reason == "FailedScheduling":
            self.unschedulable_pods.append(regarding.name)

    # -- what is reported ---------------------------------------------------------------------------------------

    @property
    def conditions(self) -> dict[str, tuple[str, str]]:
        """Status and reason of the conditions of the PodGroup, by type."""
        found = self.cluster.groups[KEY].status.conditions or ()
        return {each.type or "": (each.status or "", each.reason or "") for each in found}

    @property
    def warnings(self) -> list[str]:
        """The notes of the Unschedulable events of the PodGroup."""
        return [note for reason, note in self.notes.get(KEY, ()) if reason == "Unschedulable"]
