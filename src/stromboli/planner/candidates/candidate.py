"""A candidate: changes of one kind that differ only in their size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from stromboli import kube
from stromboli.planner.changes import Edit, ObjectChange, Path


@dataclass(frozen=True, slots=True)
class RemedyCandidate:
    """`make` returns the change of a size from 1 to `sizes`; larger sizes should achieve at least as much."""

    kind: str
    sizes: int
    make: Callable[[int], ObjectChange]


def single(kind: str, description: str, *edits: Edit) -> RemedyCandidate:
    """Return a candidate with a single size."""
    change = ObjectChange(kind, description, edits)
    return RemedyCandidate(kind, 1, lambda _: change)


def edit(entry: kube.KubeObject, path: Path, before: Any, after: Any) -> Edit:
    return Edit(type(entry).kind_name, entry.key, path, before, after)


def creation(entry: kube.KubeObject) -> Edit:
    return Edit(type(entry).kind_name, entry.key, (), None, entry)


def describe_pods(pods: Sequence[kube.Pod]) -> str:
    return f"pod {pods[0].key}" if len(pods) == 1 else f"{len(pods)} pods"
