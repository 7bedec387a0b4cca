"""Whatever the cluster contains, a person of one namespace gets no name of another tenant, in any answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Any, cast

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from stromboli.cli.answers.console import console_answer
from stromboli.cluster.dump.contents import contents_of
from stromboli.cluster.dump.dump import Dump
from stromboli.console.access.rights import PersonRights
from stromboli.console.cache.cache import ConsoleCache
from stromboli.console.cache.frames import ConsoleFrames
from stromboli.console.cache.series import FigureSeries
from stromboli.console.documents.sessions import ConsoleRights
from stromboli.console.questions import ConsoleQuestion
from stromboli.console.views.alarms import alarms_of
from stromboli.console.views.decisions import cycle_view
from stromboli.console.views.history import UsageFacts
from stromboli.console.views.job import job_detail
from stromboli.console.views.jobs import WantedRows, job_changes, job_rows, job_table
from stromboli.console.views.nodes import node_detail, node_table, topology_view
from stromboli.console.views.overview import overview_of, series_of
from stromboli.console.views.queues import queue_tree
from stromboli.console.views.usage import queue_usages
from stromboli.console.views.view import PersonView
from stromboli.core.config.configuration import DEFAULT_TEXT
from stromboli.core.model.usage.budgets import Budget, BudgetHolder, BudgetState
from stromboli.core.session.decision_records import DecisionRecords
from stromboli.history.usage.reports import UsageEntry
from stromboli.kube.client.client import Client
from stromboli.planner.cycle_records import CycleRecords
from stromboli.planner.live.installation import InstallationName
from stromboli.planner.virtual_cluster import PlannedCluster
from tests.testing.cases.case import flattened, objects
from tests.testing.manifests.builders import Manifest, gang, namespace, nodes, priority_class, queue, running
from tests.testing.random_clusters.effort import examples
from tests.testing.random_clusters.engine import default_program
from tests.testing.random_clusters.histories import cluster_of

OWN = "mine"
OTHERS = ("rival-one", "rival-two")
#: No text of the program contains these.
SECRETS = (*OTHERS, "covert", "stealthy")
_PHRASES = (
    "evicted for {key}", "preempted by {key}. Wait", "reserved for {key}", "{key} waits", "in namespace {namespace}.",
    "0/2 nodes are available: capacity of {key}", "in favour of {key}; PodGroup {key}: too large", "by {key}",
)  # fmt: skip


@dataclass(frozen=True)
class Tenants:
    """Manifests of jobs of one person, and of others."""

    manifests: list[Manifest]
    own: list[str]
    rights: ConsoleRights


@st.composite
def tenants(draw: st.DrawFn) -> Tenants:
    amounts, cpus = st.integers(1, 3), st.integers(1, 6)
    documents = [*nodes(4, draw(amounts)), priority_class("high", 100), namespace(OWN), *map(namespace, OTHERS)]
    documents += [queue("default"), queue("covert-queue")]
    for number in range(draw(amounts)):
        rival = draw(st.sampled_from(OTHERS))
        place: dict[str, Any] = {"namespace": rival, "queue": draw(st.sampled_from(["default", "covert-queue"]))}
        if draw(st.booleans()):
            jobs = running(draw(st.sampled_from(["a", "aa"])), 2, name=f"covert-{number}", **place)
        else:
            jobs = gang(draw(amounts), cpu=draw(cpus), name=f"covert-{number}", **place)
        jobs[0]["metadata"]["labels"] = {"stromboli.dev/user": "stealthy-person"}
        documents += jobs
    own = []
    for number in range(draw(amounts)):
        own.append(f"job-{number}")
        priority = draw(st.sampled_from([None, "high"]))
        jobs = gang(draw(amounts), cpu=draw(cpus), name=own[-1], namespace=OWN, queue="default", priority=priority)
        rival = draw(st.sampled_from(OTHERS))
        message = draw(st.sampled_from(_PHRASES)).format(key=f"{rival}/covert-0", namespace=rival)
        condition = {"type": "Unschedulable", "status": "True", "reason": "NotEnoughResources", "message": message}
        jobs[0]["status"] = {"phase": draw(st.sampled_from(["Pending", "Inqueue"])), "conditions": [condition]}
        jobs[1]["status"] = {"phase": "Pending", "conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}]}  # fmt: skip
        documents += jobs
    rights = ConsoleRights(all_namespaces=False, nodes=draw(st.booleans()), all_queues=False, policy=False)
    return Tenants(documents, own, rights)


def _facts() -> UsageFacts:
    """Usage of queues of both, and budgets of other users and namespaces."""
    used = {name: UsageEntry({"queue": name}, 1) for name in ("default", "covert-queue")}
    holders = [BudgetHolder(), BudgetHolder("stealthy-person"), BudgetHolder("", OTHERS[0])]
    budgets = [
        BudgetState(queue, Budget("cpu", 1.0, user=holder.user, namespace=holder.namespace), holder, 1.0, 1.0, 0.0)
        for queue in ("default", "covert-queue")
        for holder in holders
    ]
    return UsageFacts(0.0, 2e9, used, budgets)


def _answers(world: Tenants) -> Iterator[msgspec.Struct]:
    entries = objects(flattened(world.manifests))
    cache = ConsoleCache(cast(Client, None), lambda text, source: default_program(), InstallationName())
    cache.cluster, cache.program = cluster_of(entries), default_program()
    frames, records = ConsoleFrames(cache, "stromboli.dev/user"), CycleRecords("stromboli")
    frames.take()
    records.add(PlannedCluster(entries, default_program()).run_cycle(DecisionRecords()), 0.0, 0.0)
    series = FigureSeries(frames)
    series.take()
    rights = PersonRights(inf, world.rights, {OWN: True, **dict.fromkeys(OTHERS, False)})
    view, now = PersonView(frames.instance, frames.current, cache.cluster, rights), 2e9
    delta = frames.delta(0)
    assert delta is not None
    yield overview_of(view, now, alarms_of(view, now, ["watch of rival-one/covert-0"], "covert policy"))
    yield from (series_of(view, series, 0.0), queue_tree(view), job_table(view), node_table(view))
    yield queue_usages(view, _facts())
    yield from (job_rows(view, WantedRows()), job_changes(view, 0, delta))
    yield from (job_detail(view, f"{OWN}/{name}") for name in world.own)
    yield from (cycle_view(view, record) for record in records.before(None, 10))
    if world.rights.nodes:
        yield topology_view(view, "")
        yield from (node_detail(view, name) for name in cache.cluster.nodes.entries)


@examples(60)
@given(tenants())
def test_no_answer_contains_names_of_other_tenants(world: Tenants) -> None:
    for document in _answers(world):
        encoded = msgspec.json.encode(document).decode()
        assert not [name for name in SECRETS if name in encoded], encoded


@examples(12)
@given(tenants())
def test_no_calculated_answer_contains_names_of_other_tenants(world: Tenants) -> None:
    cluster = cluster_of(objects(flattened(world.manifests)))
    dump = Dump(contents_of(cluster), 2e9, DEFAULT_TEXT)
    questions = [
        ConsoleQuestion(console="explanation", readable=[OWN], job=f"{OWN}/{world.own[0]}"),
        ConsoleQuestion(console="scores", readable=[OWN], job=f"{OWN}/{world.own[0]}"),
        ConsoleQuestion(console="plan", readable=[OWN], namespace=OWN, cycles=2),
    ]
    for question in questions:
        answer = console_answer(question, dump)
        encoded = msgspec.json.encode(answer).decode()
        assert answer.problem is None, answer.problem
        assert not [name for name in SECRETS if name in encoded], encoded
