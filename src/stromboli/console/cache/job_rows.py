"""Jobs as rows, kept between frames: only those that have changed are made again."""

from __future__ import annotations

from dataclasses import dataclass

from stromboli import kube
from stromboli.cluster.objects.priority_classes import Priorities
from stromboli.cluster.state.cluster import Cluster
from stromboli.planner.overview.job_list import JobEntry, reported_jobs, with_positions

_COMPLETED = "Completed"


@dataclass(slots=True)
class ListedJob:
    """A row of the list of jobs. Rows are replaced and never edited, except for the place in the queue."""

    entry: JobEntry
    #: The user by the owner label, and the kind of the workload.
    owner: str
    kind: str

    @property
    def state(self) -> str:
        """The state that is counted: waiting, running or completed."""
        if self.entry.waits:
            return "waiting"
        return "completed" if self.entry.phase == _COMPLETED else "running"


class JobRows:
    """Rows by key. `owner_label` is a label of groups, or of their pods."""

    def __init__(self, owner_label: str) -> None:
        self._owner_label = owner_label
        self._priorities: Priorities | None = None
        self._known: dict[str, tuple[kube.PodGroup, ListedJob]] = {}

    def update(self, cluster: Cluster) -> dict[str, ListedJob]:
        """Return the rows of the groups of the cluster, in the order of namespaces and names."""
        priorities = cluster.priority_classes.priorities
        known = self._known if priorities == self._priorities else {}
        self._priorities, self._known = priorities, {}
        for key, group in cluster.groups.items():
            before = known.get(key)
            row = before[1] if before is not None and before[0] is group else self._row(cluster, group)
            self._known[key] = group, row
        rows = {key: row for key, (_, row) in self._known.items()}
        with_positions([row.entry for row in rows.values()], lambda entry: (-entry.priority, entry.created, entry.key))
        return dict(sorted(rows.items(), key=lambda each: (each[1].entry.namespace, each[1].entry.name, each[0])))

    def _row(self, cluster: Cluster, group: kube.PodGroup) -> ListedJob:
        assert self._priorities is not None, "rows are updated"  # noqa: S101
        entry = reported_jobs([group], self._priorities, is_complete=False)[0]
        pods = cluster.pods.of_job(group.key)[:1] if self._owner_label else []
        labels = [(each.metadata.labels or {}).get(self._owner_label, "") for each in (group, *pods)]
        owners = group.metadata.owner_references or ()
        kind = next((owner.kind or "" for owner in owners), "PodGroup")
        return ListedJob(entry, next(filter(None, labels), ""), kind)
