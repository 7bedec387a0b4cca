"""A frame as one person may see it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from stromboli.cluster.state.cluster import Cluster
from stromboli.console.access.rights import PersonRights
from stromboli.console.cache.frames import ConsoleFrame
from stromboli.console.cache.job_rows import ListedJob
from stromboli.console.documents.base import HiddenCount
from stromboli.visibility.names import HiddenNames


class NotFound(Exception):
    """There is no such object, or the person may not read it: the answer is the same."""


class NotPermitted(Exception):
    """The person may not read this at all; the message names the missing right."""


@dataclass(frozen=True)
class PersonView:
    """What views are made of."""

    instance: str
    frame: ConsoleFrame
    cluster: Cluster
    rights: PersonRights

    def may_read(self, row: ListedJob) -> bool:
        return self.rights.may_read(row.entry.namespace)

    def rows(self) -> Iterator[tuple[str, ListedJob]]:
        """Yield the jobs that may be named."""
        return ((key, row) for key, row in self.frame.rows.items() if self.may_read(row))

    def row(self, key: str) -> ListedJob:
        """Return a job by its key. Raises NotFound."""
        row = self.frame.rows.get(key)
        if row is None or not self.may_read(row):
            raise NotFound(f"no job {key}, or you may not read jobs in its namespace")
        return row

    def hidden(self) -> HiddenCount:
        """Return the number of jobs that may not be named."""
        if self.rights.may_read_all:
            return HiddenCount()
        counts = Counter(row.state for row in self.frame.rows.values() if not self.may_read(row))
        return HiddenCount(waiting=counts["waiting"], running=counts["running"], completed=counts["completed"])

    def text(self, text: str) -> str:
        """Return a text without the names of namespaces that may not be read."""
        return self.names.hide(text) if text else text

    @cached_property
    def names(self) -> HiddenNames:
        readable = self.rights.readable
        return HiddenNames(readable, () if readable is None else namespaces_of(self.cluster))

    @cached_property
    def queues(self) -> frozenset[str]:
        """The queues that may be named: all, or those of the jobs that may be named, with those above them."""
        if self.rights.known.all_queues:
            return frozenset(entry.name for entry in self.frame.queues)
        parents = {entry.name: entry.parent for entry in self.frame.queues}
        found = {row.entry.queue for _, row in self.rows()} & parents.keys()
        for name in tuple(found):
            while (name := parents.get(name, "")) and name not in found:
                found.add(name)
        return frozenset(found)


def namespaces_of(cluster: Cluster) -> set[str]:
    """Return all namespaces, with those of jobs and pods whose namespace is not known yet."""
    names = {group.metadata.namespace for group in cluster.groups.values()} | cluster.namespaces.by_name.keys()
    return names | {pod.metadata.namespace for pod in cluster.pods.all()}
