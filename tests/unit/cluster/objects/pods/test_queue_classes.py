"""If a plugin reads the queues of pods, pods of different queues belong to different classes at any time."""

from __future__ import annotations

from stromboli.cluster.state.cluster import Cluster
from stromboli.core.model.tasks.task_class import QUEUE
from tests.testing.cases.case import flattened, objects
from tests.testing.manifests.builders import gang, group, node, queue

WORLD = [
    node("a"),
    queue("left"),
    queue("right"),
    gang(2, name="one", queue="left"),
    gang(1, name="two", queue="right"),
]


def following(*, reads_queues: bool = True) -> Cluster:
    cluster = Cluster(class_annotations=(QUEUE,) if reads_queues else ())
    for entry in objects(flattened(WORLD)):
        cluster.apply(entry)
    return cluster


def queues_read(cluster: Cluster) -> dict[str, set[str | None]]:
    jobs = cluster.snapshot().jobs.values()
    return {job.spec.name: {task.task_class.annotations.get(QUEUE) for task in job.tasks.values()} for job in jobs}


def test_class_has_the_queue_of_the_job() -> None:
    assert queues_read(following()) == {"one": {"left"}, "two": {"right"}}


def test_classes_ignore_queues_unless_a_plugin_reads_them() -> None:
    cluster = following(reads_queues=False)
    assert queues_read(cluster) == {"one": {None}, "two": {None}}
    tasks = [task for job in cluster.snapshot().jobs.values() for task in job.tasks.values()]
    assert len({task.task_class for task in tasks}) == 1


def test_moved_job_changes_the_class_of_its_pods() -> None:
    cluster = following()
    cluster.snapshot()
    [moved] = objects([group("one", 2, queue="right")])
    cluster.apply(moved)
    assert queues_read(cluster) == {"one": {"right"}, "two": {"right"}}
    assert len({task.task_class for job in cluster.snapshot().jobs.values() for task in job.tasks.values()}) == 1


def test_added_and_removed_group_changes_the_class_of_its_pods() -> None:
    cluster = following()
    [head, *_] = objects(flattened(gang(2, name="one", queue="left")))
    cluster.remove(head)
    assert queues_read(cluster)["one"] == {""}
    cluster.apply(head)
    assert queues_read(cluster)["one"] == {"left"}


def test_pod_annotation_does_not_set_the_queue() -> None:
    cluster = Cluster(class_annotations=(QUEUE,))
    for entry in objects(flattened([queue("left"), gang(1, name="one", queue="left", annotations={QUEUE: "right"})])):
        cluster.apply(entry)
    assert queues_read(cluster) == {"one": {"left"}}
