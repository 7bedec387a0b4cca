"""Nodes by column, one node with its pods, and network domains."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from stromboli.console.cache.node_facts import NodeFacts
from stromboli.console.documents.nodes import (
    NodeColumns,
    NodeDetail,
    NodeListing,
    NodePod,
    TopologyDomain,
    TopologyView,
)
from stromboli.console.views.job import pod_requests
from stromboli.console.views.view import NotFound, NotPermitted, PersonView
from stromboli.core.model.resources.quantity import parse_quantity
from stromboli.core.session.session import Session
from stromboli.planner.overview.job_page import status_of_pod
from stromboli.planner.overview.node_list import obstacles_of, refusals_on, status_of_node
from stromboli.planner.topology_report import DomainReport, TopologyReport, UnknownTopology, topology_of
from stromboli.workloads.groups import job_key_of

_NEEDED = "you may not list nodes; ask for the ClusterRole stromboli-viewer"


def node_table(view: PersonView) -> NodeListing:
    """Return all nodes, or their number."""
    facts, may_read = view.frame.nodes, view.rights.known.nodes
    columns = _columns(facts if may_read else None)
    hidden = 0 if may_read or facts is None else len(facts.names)
    return NodeListing(instance=view.instance, version=view.frame.version, nodes=columns, hidden=hidden)


def _columns(facts: NodeFacts | None) -> NodeColumns:
    if facts is None:
        return NodeColumns(
            names=[], statuses=[], domains=[], pods=[], fragmented=[], obstacles=[], capacity={}, used={}, reserved={}
        )
    return NodeColumns(
        names=list(facts.names), statuses=list(facts.statuses), domains=list(facts.domains), pods=list(facts.pods),
        fragmented=facts.fragmented.tolist(), obstacles=list(facts.obstacles),
        capacity={name: column.tolist() for name, column in facts.capacity.items()},
        used={name: column.tolist() for name, column in facts.used.items()},
        reserved={name: column.tolist() for name, column in facts.reserved.items()},
    )  # fmt: skip


def node_detail(view: PersonView, name: str) -> NodeDetail:
    """Return a node with its pods. Raises NotFound, NotPermitted."""
    session = _session(view)
    row = session.nodes.index.get(name)
    if row is None:
        raise NotFound(f"no node {name}")
    node = session.nodes.nodes[row]
    pods, hidden = _pods(view, name)
    return NodeDetail(
        instance=view.instance, version=view.frame.version, node=name, status=status_of_node(node),
        obstacles=list(obstacles_of(node)),
        refusals={view.text(reason): len(jobs) for reason, jobs in refusals_on(session, row).items()},
        labels=dict(node.labels), pods=pods, hidden_pods=hidden,
    )  # fmt: skip


def _session(view: PersonView) -> Session:
    if not view.rights.known.nodes:
        raise NotPermitted(_NEEDED)
    if view.frame.session is None:
        raise NotFound(f"the nodes are not known: {view.frame.problem}")
    return view.frame.session


def _pods(view: PersonView, node: str) -> tuple[list[NodePod], int]:
    pods = [pod for pod in view.cluster.pods.all() if pod.spec.node_name == node and not pod.status.is_finished]
    shown = sorted((pod for pod in pods if view.rights.may_read(pod.metadata.namespace)), key=lambda pod: pod.key)
    keys = {pod.key: job_key_of(pod) or "" for pod in shown}
    requests: dict[str, Mapping[str, str]] = {}
    for key in set(keys.values()):
        requests.update(pod_requests(view, key))
    found = [
        NodePod(
            namespace=pod.metadata.namespace, pod=pod.metadata.name, status=status_of_pod(pod), job=keys[pod.key],
            requests=dict(requests.get(pod.key, {})),
        )
        for pod in shown
    ]  # fmt: skip
    return found, len(pods) - len(found)


def topology_view(view: PersonView, name: str) -> TopologyView:
    """Return the domains of HyperNodes, or of a Topology. Raises NotFound, NotPermitted."""
    session = _session(view)
    try:
        report = topology_of(session.snapshot, view.cluster.pods.all(), name)
    except UnknownTopology as error:
        raise NotFound(str(error)) from error
    return TopologyView(
        instance=view.instance, version=view.frame.version, domains=_domains(view, report),
        topologies=sorted(session.snapshot.topologies), warnings=_warnings(view, report.warnings),
    )  # fmt: skip


def _warnings(view: PersonView, warnings: Collection[str]) -> list[str]:
    """Warnings about objects of others are left out."""
    return [each for each in warnings if not view.names.mentions(each)]


def _domains(view: PersonView, report: TopologyReport) -> list[TopologyDomain]:
    return [_domain(view, each) for each in report.domains]


def _domain(view: PersonView, domain: DomainReport) -> TopologyDomain:
    jobs = {key: pods for key, pods in domain.jobs.items() if view.rights.may_read(key.partition("/")[0])}
    return TopologyDomain(
        name=domain.name, tier=domain.tier, tier_name=domain.tier_name, parent=domain.parent, nodes=domain.nodes,
        own_nodes=list(domain.own_nodes), free_nodes=domain.free_nodes, capacity=_amounts(domain.capacity),
        used=_amounts(domain.used), free=_amounts(domain.free), jobs=jobs, hidden_jobs=len(domain.jobs) - len(jobs),
    )  # fmt: skip


def _amounts(quantities: Mapping[str, str]) -> dict[str, float]:
    return {name: parse_quantity(text, milli=True) / 1000 for name, text in quantities.items()}
