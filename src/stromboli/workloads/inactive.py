"""Workloads that have no pods at present: suspended ones, and those of another controller."""

from __future__ import annotations

from stromboli.workloads.document import WorkloadDocument

#: The labels with which Kueue suspends a workload until it admits it, and orders admissions.
KUEUE_QUEUE, KUEUE_PRIORITY = "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class"
#: Another controller than the kind's own. That of Kueue creates the workload in another cluster.
_MANAGED_BY = ("spec.managedBy", "spec.runPolicy.managedBy")
_OWN_CONTROLLERS = frozenset(
    {
        "kubernetes.io/job-controller",
        "jobset.sigs.k8s.io/jobset-controller",
        "trainer.kubeflow.org/trainjob-controller",
        "kubeflow.org/training-operator",
        "kubeflow.org/mpi-operator",
        "ray.io/kuberay-operator",
    }
)


def inactivity_of(workload: WorkloadDocument, suspend: str) -> str:
    """Return why its controller creates no pods, after the name of the workload; empty if it does. `suspend` is the
    field that suspends it. Kueue's workloads are suspended until they are admitted.
    """
    managers = (workload.text(path) for path in _MANAGED_BY)
    if manager := next((each for each in managers if each and each not in _OWN_CONTROLLERS), ""):
        return f"is managed by {manager}"
    is_suspended = bool(suspend) and workload.flag(suspend)
    return "is suspended" if is_suspended and KUEUE_QUEUE not in workload.labels else ""


def kueue_note(workload: WorkloadDocument) -> str:
    """Return a note for a workload of Kueue, whose queues and classes order admissions; empty for others."""
    labels = {**workload.texts("spec.jobTemplate.metadata.labels"), **workload.labels}
    queue, priority = labels.get(KUEUE_QUEUE, ""), labels.get(KUEUE_PRIORITY, "")
    if not queue:
        return ""
    named = f"its queue {queue} and priority class {priority} are" if priority else f"its queue {queue} is"
    return f"{named} Kueue's; it is planned as if Kueue had admitted it, with any flavor"
