"""Networks defined by the labels of nodes: Topology objects, and the levels that jobs request."""

from __future__ import annotations

from collections.abc import Mapping

from tests.testing.manifests.builders import Manifest, given, manifest, node

BLOCK, RACK, HOST = "example.com/block", "example.com/rack", "kubernetes.io/hostname"
_KAI = "kai.scheduler"


def topology(name: str = "net", *labels: str) -> Manifest:
    levels = [{"nodeLabel": label} for label in labels or (BLOCK, RACK)]
    return manifest("Topology", name, f"{_KAI}/v1alpha1", spec={"levels": levels})


def asking(
    required: str | None = None,
    preferred: str | None = None,
    network: str | None = "net",
    part: str | None = None,
    part_preferred: str | None = None,
) -> dict[str, str]:
    """The annotations of a group that requests levels, for itself and for its sub-groups."""
    fields = {
        "topology": network,
        "topology-required-placement": required,
        "topology-preferred-placement": preferred,
        "segment-topology-required-placement": part,
        "segment-topology-preferred-placement": part_preferred,
    }
    return {f"{_KAI}/{key}": value for key, value in given(**fields).items()}


def at(block: str | None = None, rack: str | None = None, host: str | None = None) -> Mapping[str, str]:
    found = {BLOCK: block, RACK: rack, HOST: host}
    return {label: value for label, value in found.items() if value is not None}


def in_racks(cpu: object, *blocks: str) -> list[Manifest]:
    """Nodes of one size: `in_racks(2, "ab cd", "ef gh")` has two blocks of two racks, which are numbered in each."""
    return [
        node(letter, cpu, labels=at(f"b{number}", f"r{place}", letter))
        for number, block in enumerate(blocks)
        for place, rack in enumerate(block.split())
        for letter in rack
    ]


#: Two blocks of two racks of two nodes.
WORLD = [*in_racks(2, "ab cd", "ef gh"), topology()]
