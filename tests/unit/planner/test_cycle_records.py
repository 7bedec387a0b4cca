"""Records of cycles: what they contain, and how many there are."""

from __future__ import annotations

from stromboli.core.session.decision_records import DecisionRecords
from stromboli.planner.cycle_records import MAX_RECORDS, CycleRecords
from stromboli.planner.virtual_cluster import PlannedCluster
from tests.testing.cases.case import flattened, objects
from tests.testing.manifests.builders import Manifest, gang, nodes, queue
from tests.testing.random_clusters.engine import default_program


def _recorded(*documents: Manifest, cycles: int = 1) -> CycleRecords:
    records, cluster = CycleRecords("stromboli"), PlannedCluster(objects(flattened(documents)), default_program())
    for number in range(cycles):
        records.add(cluster.run_cycle(DecisionRecords()), float(number), 0.25)
    return records


def test_record_has_binds_refusals_and_scores() -> None:
    records = _recorded(queue("default"), *nodes(4, 2), *gang(2, cpu=3, name="fits"), *gang(1, cpu=9, name="large"))
    [record] = records.before(None, 10)
    assert (record.cycle.number, record.cycle.time, record.cycle.binds, record.cycle.seconds) == (1, 0.0, 2, 0.25)
    [bound] = record.binds
    assert (bound.job, set(bound.pods.values())) == ("default/fits", {"a", "b"})
    [refused] = record.refusals
    assert (refused.job, bool(refused.summary), len(refused.codes)) == ("default/large", True, 1)
    assert [each.job for each in record.scores] == ["default/fits"]
    assert "allocate" in record.actions
    assert "gang" in record.plugins


def test_cycle_that_decides_nothing_new_is_not_recorded() -> None:
    records = _recorded(queue("default"), *nodes(4, 1), *gang(1, cpu=9, name="large"), cycles=3)
    assert [each.cycle.number for each in records.before(None, 10)] == [1]


def test_oldest_records_are_forgotten() -> None:
    records = CycleRecords("stromboli")
    for number in range(MAX_RECORDS + 5):
        world = [queue("default"), *nodes(4, 1), *gang(1, cpu=1, name=f"job-{number}")]
        records.add(PlannedCluster(objects(flattened(world)), default_program()).run_cycle(), 0.0, 0.0)
    assert len(records.before(None, 1_000)) == MAX_RECORDS
    assert records.find(5) is None
    assert records.find(6) is not None
    assert [each.cycle.number for each in records.before(10, 2)] == [9, 8]
