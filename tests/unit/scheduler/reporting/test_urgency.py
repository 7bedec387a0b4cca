"""Which statuses are written while binds wait."""

from __future__ import annotations

from typing import cast
from unittest import mock

import pytest

from benchmarks import clusters
from benchmarks.measurement import new_program
from stromboli import kube
from stromboli.cluster.standard_queues import standard_queues
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.session.session import Session
from stromboli.kube.work.status_writer import DesiredStatus, StatusWriter
from stromboli.scheduler.reporting.announcer import EventAnnouncer
from stromboli.scheduler.reporting.reporter import StatusReporter


@pytest.mark.parametrize(
    ("cpu", "pods", "nodes", "is_urgent"),
    [
        pytest.param(1, 0, None, True, id="admitted, and a controller waits for that to create pods"),
        pytest.param(1, 1, None, True, id="admitted without a part of its pods"),
        pytest.param(100, 0, None, False, id="not admitted"),
        pytest.param(100, 2, None, False, id="unschedulable"),
        pytest.param(1, 2, None, False, id="about to be bound"),
        pytest.param(1, 2, ["node-000000"] * 2, False, id="bound"),
    ],
)
def test_status_of_group_yields_to_binds_if_all_its_pods_exist(
    cpu: int, pods: int, nodes: list[str] | None, is_urgent: bool
) -> None:
    cluster = Cluster()
    clusters.fill(cluster, iter([*standard_queues(), clusters.plain_node(0, 4)]))
    group, *members = clusters.job("gang", 2, clusters.cpu_template(cpu), nodes=nodes)
    assert isinstance(group, kube.PodGroup)
    group.status.phase = "Pending"
    clusters.fill(cluster, iter([group, *members[:pods]]))
    writer = mock.Mock(spec=StatusWriter)
    announcer = cast(EventAnnouncer, mock.Mock(spec=EventAnnouncer))
    session = Session(cluster.snapshot(), new_program())
    session.run()
    StatusReporter(cluster, writer, announcer, refresh=10.0, clock=lambda: 0.0).report(session)
    wanted = [call.args[0] for call in writer.want.call_args_list]
    assert [each.urgent for each in wanted if cast(DesiredStatus, each).resource.kind == "PodGroup"] == [is_urgent]
