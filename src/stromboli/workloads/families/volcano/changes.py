"""What the plugins of a Volcano Job change in its pods.

A plan and the job controller use the same plugins; those that are not installed where the plan is made are left out.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.rules.findings import RuleFinding
from stromboli.workloads.families.volcano.tasks import VolcanoTask, pods_of_task

#: Changes the pod of a task with this index in place.
PodChange = Callable[[dict[str, Any], WorkloadDocument, VolcanoTask, int], None]


class JobChanges(NamedTuple):
    """The changes of one Job."""

    pods: Sequence[PodChange] = ()
    #: What the plugins cannot work with.
    findings: Sequence[RuleFinding] = ()
    #: The plugins that are not known.
    unknown: Sequence[str] = ()

    def pods_of(self, job: WorkloadDocument, task: VolcanoTask, indices: Sequence[int]) -> Iterator[dict[str, Any]]:
        """Yield the pods of a task with all changes."""
        for index, made in zip(indices, pods_of_task(job, task, indices), strict=True):
            pod = copy.deepcopy(made) if self.pods else made  # Its parts are those of the template.
            for change in self.pods:
                change(pod, job, task, index)
            yield pod
