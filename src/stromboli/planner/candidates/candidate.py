"""A candidate: changes of one kind that differ only in their size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from stromboli import kube
from stromboli.planner.changes import Change, Edit, Path


@dataclass(frozen=True, slots=True)
class Candidate:
    """`make` gives the change of a size from 1 to `sizes`; what a size achieves, every larger one should too."""

    kind: str
    sizes: int
    make: Callable[[int], Change]


def single(kind: str, sentence: str, *edits: Edit) -> Candidate:
    """A change that comes in one size."""
    change = Change(kind, sentence, edits)
    return Candidate(kind, 1, lambda _: change)


def edit(entry: kube.KubeObject, path: Path, before: Any, after: Any) -> Edit:
    return Edit(type(entry).kind_name, entry.key, path, before, after)


def creation(entry: kube.KubeObject) -> Edit:
    return Edit(type(entry).kind_name, entry.key, (), None, entry)


def describe_pods(pods: Sequence[kube.Pod]) -> str:
    return f"pod {pods[0].key}" if len(pods) == 1 else f"{len(pods)} pods"
