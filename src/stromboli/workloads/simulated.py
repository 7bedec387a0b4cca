"""Times that a workload declares for the simulator: its pods and groups take them over."""

from __future__ import annotations

from stromboli.kube.objects.timestamps import RUN_TIME
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.expansion import Expansion

#: Annotations of Stromboli, which controllers do not copy to pods; run times and arrivals are among them.
PREFIX = "scheduling.stromboli.dev/"


def declare_times(workload: WorkloadDocument, expansion: Expansion) -> None:
    """Annotate the pods with the run time of the workload, and pods and groups with its annotations for the simulator;
    their own count before them.
    """
    declared = {key: value for key, value in workload.annotations.items() if key.startswith(PREFIX)}
    of_pods = {**({RUN_TIME: expansion.run_time} if expansion.run_time else {}), **declared}
    for created, entries in ((expansion.pods, of_pods), (expansion.groups, declared)):
        for each in created if entries else ():
            metadata = each.document["metadata"]
            metadata["annotations"] = {**entries, **(metadata.get("annotations") or {})}
