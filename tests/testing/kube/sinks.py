"""A sink of a reflector that records all calls."""

from typing import Any

from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.resources import Resource


class RecordingSink:
    """Present objects by key, and all calls in order."""

    def __init__(self) -> None:
        self.entries: dict[str, Any] = {}
        self.calls: list[str] = []
        self.problems: dict[str, str] = {}
        #: Names for which the sink raises.
        self.failing_names: set[str] = set()

    def apply(self, entry: TopLevel) -> None:
        self.calls.append(f"+{entry.metadata.name}")
        if entry.metadata.name in self.failing_names:
            raise ValueError("sink failure")
        known = self.entries.get(entry.key)
        assert known is None or known.metadata.uid == entry.metadata.uid, "the uid of a name changed without a deletion"
        self.problems.pop(entry.key, None)
        self.entries[entry.key] = entry

    def remove(self, entry: TopLevel) -> None:
        self.calls.append(f"-{entry.metadata.name}")
        self.problems.pop(entry.key, None)
        known = self.entries.pop(entry.key, None)
        assert known is None or known.metadata.uid == entry.metadata.uid, "another object was removed"

    def unreadable(self, resource: Resource[Any], key: str, uid: str, problem: str) -> None:
        self.calls.append(f"?{key.rpartition('/')[2]}")
        self.problems[key] = problem

    @property
    def calls_text(self) -> str:
        return " ".join(self.calls)

    @property
    def versions(self) -> dict[str, str | None]:
        return {key: entry.metadata.resource_version for key, entry in self.entries.items()}
