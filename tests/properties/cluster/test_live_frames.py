"""A frame of the live view agrees with the objects, in any cluster and after a cycle that was not yet applied."""

from __future__ import annotations

from collections import Counter
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from stromboli import kube
from stromboli.cli.text.live.cycles import CycleLog
from stromboli.cli.text.live.frame import SETTLED, take_frame
from stromboli.core.model.tasks.task import ALLOCATED_STATUSES
from stromboli.core.session.session import Session
from stromboli.scheduler.cycle import CycleResult
from stromboli.workloads.groups import job_key_of
from tests.testing.random_clusters.effort import examples
from tests.testing.random_clusters.engine import default_program
from tests.testing.random_clusters.histories import cluster_of
from tests.testing.random_clusters.worlds import SmallWorld, worlds


@examples(60)
@given(worlds(), st.randoms())
def test_frame_agrees_with_the_objects_of_its_moment(world: SmallWorld, random: Random) -> None:
    """The last cycle ran before some pods were created: its reasons must not appear beside the pods of now."""
    cluster = cluster_of(world.objects)
    log = CycleLog(cluster, lambda: 0.0)
    late = {group.key for group in world.groups if random.random() < 0.5}
    past = [entry for entry in world.objects if not (isinstance(entry, kube.Pod) and job_key_of(entry) in late)]
    session = Session(cluster_of(past).snapshot(), default_program())
    session.run()
    log.observe(CycleResult(session, 0, 0, 0.0))
    frame = take_frame(cluster, log)

    phases: dict[str, Counter[str | None]] = {}
    for record in cluster.pods.records.values():
        phase = record.pod.status.phase
        if record.pod.metadata.deletion_timestamp and phase != "Succeeded":
            phase = "Terminating"
        phases.setdefault(record.job or "", Counter())[phase] += 1
    for job in frame.jobs:
        found = phases.get(job.key, Counter())
        assert (job.running, job.succeeded) == (found["Running"], found["Succeeded"])
        assert not (job.phase in SETTLED and job.reason)
        assert not ("no pods" in job.reason and job.pods)
    counted = [each for each in cluster.accounting.counted.values() if each.status in ALLOCATED_STATUSES]
    dimension = cluster.axis.names.index(frame.resource)
    assert frame.used == sum(dict(each.task.task_class.request).get(dimension, 0) for each in counted if each.row >= 0)
