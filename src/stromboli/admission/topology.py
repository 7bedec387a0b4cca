"""Rules for HyperNodes and Topologies: validity of one object. Members may be created later."""

from __future__ import annotations

from collections.abc import Iterator

from stromboli.admission.verdict import GOOD, AdmissionVerdict, Violation, refused
from stromboli.cluster.objects.topology.hypernodes import chosen_by, fault_of
from stromboli.cluster.objects.topology.topologies import levels_of
from stromboli.kube.objects.topology import KubeHyperNode, KubeTopology


def review_hyper_node(hyper_node: KubeHyperNode) -> AdmissionVerdict:
    violations = [violation for violation in (fault_of(hyper_node), *_member_faults(hyper_node)) if violation]
    return refused(*(Violation(violation) for violation in violations)) if violations else GOOD


def review_topology(topology: KubeTopology) -> AdmissionVerdict:
    try:
        levels_of(topology)
    except ValueError as error:
        return refused(Violation(str(error)))
    return GOOD


def _member_faults(hyper_node: KubeHyperNode) -> Iterator[str]:
    for place, member in enumerate(hyper_node.spec.members or ()):
        try:
            chosen_by(member)
        except ValueError as error:
            yield f"spec.members[{place}]{error}"
