"""Someone who wants to know about pods, and remembers what was said."""

from typing import Any

from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.resources import Resource


class Notebook:
    """What is there now, by key, and everything that was said, in order."""

    def __init__(self) -> None:
        self.entries: dict[str, Any] = {}
        self.said: list[str] = []
        self.problems: dict[str, str] = {}
        #: Names at which the reader stumbles.
        self.stumbles: set[str] = set()

    def apply(self, entry: TopLevel) -> None:
        self.said.append(f"+{entry.metadata.name}")
        if entry.metadata.name in self.stumbles:
            raise ValueError("cannot take it")
        known = self.entries.get(entry.key)
        assert known is None or known.metadata.uid == entry.metadata.uid, "a name changed hands without a word"
        self.problems.pop(entry.key, None)
        self.entries[entry.key] = entry

    def remove(self, entry: TopLevel) -> None:
        self.said.append(f"-{entry.metadata.name}")
        self.problems.pop(entry.key, None)
        known = self.entries.pop(entry.key, None)
        assert known is None or known.metadata.uid == entry.metadata.uid, "the wrong one was removed"

    def unreadable(self, resource: Resource[Any], key: str, uid: str, problem: str) -> None:
        self.said.append(f"?{key.rpartition('/')[2]}")
        self.problems[key] = problem

    @property
    def story(self) -> str:
        return " ".join(self.said)

    @property
    def versions(self) -> dict[str, str | None]:
        return {key: entry.metadata.resource_version for key, entry in self.entries.items()}
