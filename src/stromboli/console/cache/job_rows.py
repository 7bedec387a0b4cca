"""Jobs as rows, kept between frames: only those that have changed are made again."""

from __future__ import annotations

from dataclasses import dataclass, field

from stromboli import kube
from stromboli.cluster.objects.priority_classes import Priorities
from stromboli.cluster.state.cluster import Cluster
from stromboli.planner.overview.job_list import JobEntry, reported_jobs, with_positions

_COMPLETED = "Completed"


@dataclass(slots=True)
class ListedJob:
    """A row of the list of jobs. Rows are replaced and never edited, except for the place in the queue."""

    entry: JobEntry
    #: What it was made from.
    group: kube.PodGroup = field(compare=False, repr=False)
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
        self._known: dict[str, ListedJob] = {}

    def update(self, cluster: Cluster) -> dict[str, ListedJob]:
        """Return the rows of the groups of the cluster, in the order of namespaces and names."""
        priorities = cluster.priority_classes.priorities
        known = self._known if priorities == self._priorities else {}
        self._priorities, rows = priorities, list[ListedJob]()
        for key, group in cluster.groups.items():
            before = known.get(key)
            rows.append(before if before is not None and before.group is group else self._row(cluster, group))
        with_positions([row.entry for row in rows], lambda entry: (-entry.priority, entry.created, entry.key))
        rows.sort(key=lambda row: (row.entry.namespace, row.entry.name, row.entry.key))
        self._known = {row.entry.key: row for row in rows}
        return self._known

    def _row(self, cluster: Cluster, group: kube.PodGroup) -> ListedJob:
        assert self._priorities is not None, "rows are updated"  # noqa: S101
        entry = reported_jobs([group], self._priorities, is_complete=False)[0]
        pods = cluster.pods.of_job(group.key)[:1] if self._owner_label else []
        labels = [(each.metadata.labels or {}).get(self._owner_label, "") for each in (group, *pods)]
        owners = group.metadata.owner_references or ()
        kind = next((owner.kind or "" for owner in owners), "PodGroup")
        return ListedJob(entry, group, next(filter(None, labels), ""), kind)
