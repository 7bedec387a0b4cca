"""Hardware partitions of a GPU (MIG): the possible sets of instances, and the instance that a pod gets.

A GPU in use keeps its set; an idle one may be partitioned into any. The instances of a set are numbered from 0, in the
order of the set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Template:
    """A number of instances of one size."""

    name: str
    memory: int
    count: int = 1


@dataclass(frozen=True, slots=True)
class Geometry:
    """A set of instances that a GPU can be cut into."""

    name: str
    templates: tuple[Template, ...]

    def memories(self) -> list[int]:
        """The memory of each instance, by number."""
        return [template.memory for template in self.templates for _ in range(template.count)]


#: For each family of models, the parts that their names contain and the possible sets.
Geometries = Sequence[tuple[tuple[str, ...], tuple[Geometry, ...]]]


@dataclass(frozen=True, slots=True)
class Instance:
    geometry: str
    number: int
    memory: int


def named(instance: Instance) -> str:
    return f"{instance.geometry}-{instance.number}"


def geometries_of(geometries: Geometries, model: str) -> tuple[Geometry, ...]:
    """The sets that a GPU of this model can be cut into."""
    for parts, possible in geometries:
        if any(word in model for word in parts):
            return possible
    return ()


def instance_for(geometries: Geometries, model: str, taken: Sequence[str], memory: int, whole: int) -> Instance | None:
    """Return the smallest free instance with this much memory; a request for the whole GPU gets the largest."""
    possible = geometries_of(geometries, model)
    if memory == whole:
        memory = min(whole, max((size for geometry in possible for size in geometry.memories()), default=whole))
    in_force = taken[0].rpartition("-")[0] if taken else ""
    used = {int(number) for number in (part.rpartition("-")[2] for part in taken) if number.isdecimal()}
    found = [
        Instance(geometry.name, number, size)
        for geometry in possible
        if not taken or geometry.name == in_force
        for number, size in enumerate(geometry.memories())
        if size >= memory and number not in used
    ]
    return min(found, key=lambda instance: instance.memory, default=None)
