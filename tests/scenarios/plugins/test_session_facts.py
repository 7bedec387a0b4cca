"""What a session exposes about the whole cluster to plugins and actions, recorded by an action."""

from typing import Any, ClassVar

from stromboli.core.config.action import Action
from stromboli.core.config.configuration import parse_configuration
from stromboli.core.config.registry import Registry
from stromboli.core.plugins import PLUGINS
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.kube.objects.kinds import KubeObject, decode
from stromboli.planner.virtual_cluster import PlannedCluster


class RecordingSink(Action):
    """Records the totals, and evicts a running task if there is one."""

    name = "notebook"
    notes: ClassVar[dict[str, Any]] = {}

    def execute(self, session: Session) -> None:
        self.notes["total"] = session.axis.as_quantities(session.total)
        self.notes["guarantee"] = session.axis.as_quantities(session.total_guarantee)
        self.notes["deserved"] = session.axis.as_quantities(session.total_deserved)
        self.notes["revocable"] = [node.name for node in session.revocable_nodes]
        for job in session.jobs.values():
            for task in list(job.tasks.values()):
                session.evict(task, "notebook")


def _node(name: str, **labels: str) -> dict[str, Any]:
    offered = {"cpu": "4", "memory": "8Gi", "pods": "10"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": offered},
    }


def _queue(name: str, guarantee: str, deserved: str) -> dict[str, Any]:
    spec = {"guarantee": {"resource": {"cpu": guarantee}}, "deserved": {"cpu": deserved}}
    return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": name}, "spec": spec}


def _session(*documents: dict[str, Any]) -> Session:
    objects: list[KubeObject] = [decode(document) for document in documents]  # type: ignore[misc]
    registry = Registry(PLUGINS, (RecordingSink,))
    program = Program(parse_configuration("actions: notebook\ntiers:\n- plugins:\n  - name: gang", registry), registry)
    return PlannedCluster(objects, program).decide()


def test_totals_and_revocable_nodes() -> None:
    zone = {"volcano.sh/revocable-zone": "night"}
    _session(_node("a"), _node("b", **zone), _queue("red", "1", "2"), _queue("blue", "500m", "3"))
    assert RecordingSink.notes["total"] == {"cpu": "8", "memory": "16Gi", "pods": "20"}
    assert (RecordingSink.notes["guarantee"], RecordingSink.notes["deserved"]) == ({"cpu": "1500m"}, {"cpu": "5"})
    assert RecordingSink.notes["revocable"] == ["b"]


def test_job_that_lost_task_gets_new_status_without_waiting_tasks() -> None:
    group = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "train", "namespace": "team", "uid": "train"},
        "spec": {"minMember": 1},
        "status": {"phase": "Running"},
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "train-0", "namespace": "team", "uid": "train-0",
            "annotations": {"scheduling.k8s.io/group-name": "train"},
        },
        "spec": {"nodeName": "a", "containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]},
        "status": {"phase": "Running"},
    }  # fmt: skip
    session = _session(_node("a"), group, pod)
    assert "team/train" not in session.snapshot.waiting
    assert session.dirty_jobs == {"team/train"}
    assert session.statuses["team/train"].running == 0
