"""Rules for HyperNodes: what makes no sense in one alone. Its members may come later, so they are not looked for."""

from __future__ import annotations

from collections.abc import Iterator

from stromboli.admission.verdict import GOOD, Fault, Verdict, refused
from stromboli.cache.hypernodes import chosen_by, fault_of
from stromboli.kube.objects.topology import HyperNode


def review_hyper_node(hyper_node: HyperNode) -> Verdict:
    faults = [fault for fault in (fault_of(hyper_node), *_member_faults(hyper_node)) if fault]
    return refused(*(Fault(fault) for fault in faults)) if faults else GOOD


def _member_faults(hyper_node: HyperNode) -> Iterator[str]:
    for place, member in enumerate(hyper_node.spec.members or ()):
        try:
            chosen_by(member)
        except ValueError as error:
            yield f"spec.members[{place}]{error}"
