"""Jobs that want their nodes close together, in networks of several shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import msgspec

from benchmarks import clusters
from benchmarks.measurement import Result, finished, new_program, prepared, run_cycle
from benchmarks.rack_capacity import rack_capacity
from benchmarks.turnover import turnover
from stromboli import kube
from stromboli.cluster.standard_queues import standard_queues
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.config.configuration import DEFAULT_TEXT, parse_configuration
from stromboli.core.session.program import Program
from stromboli.kube.objects.meta import ObjectMeta
from stromboli.kube.objects.topology import ExactMatch, HyperNodeMember, HyperNodeSpec, KubeHyperNode, MemberSelector
from stromboli.kube.objects.volcano import KubeNetworkTopology, KubeSubGroupPolicy
from stromboli.registry import built_in_registry

Parameters = dict[str, int]
Objects = Iterator[kube.KubeObject]

_PART = "bench/part"
HARD_RACK = KubeNetworkTopology(mode="hard", highest_tier_allowed=1)
_SOFT = KubeNetworkTopology(mode="soft")


def topology(parameters: Parameters, runs: int) -> list[Result]:
    """Racks for many gangs; a tree for one that prefers a rack; a rack for each sub-group of a job; preemption in a
    rack of a full cluster.
    """
    nodes = parameters["nodes"]
    results = [_measured("racks", {"nodes": nodes, "gangs": g, "size": 4}, _racks, runs) for g in (750, 1_500, 2_250)]
    results += [_measured("racks", {"nodes": nodes, "gangs": g, "size": 1_000}, _racks, runs) for g in (3, 6, 9)]
    results.append(_measured("tree", {"zones": 4, "blocks": 8, "racks": 8, "hosts": 2}, _tree, runs))
    results.append(_measured("parts", {"nodes": 1_000, "parts": 100, "size": 10}, _parts, runs))
    results.append(_unconstrained({"nodes": nodes, "gangs": 1_000, "size": 10}, runs))
    for action in ("preempt", "gangpreempt"):
        size = {"nodes": 2_000, "racks": 20, "victims": 700, "gang": 30}
        claiming = program(f"allocate, {action}")
        results.append(rack_capacity(action, size, network, partial(with_constraint, HARD_RACK), claiming, runs))
    return results


def busy_racks(parameters: Parameters, runs: int) -> list[Result]:
    """Short workloads in racks that stay busy."""
    return [turnover(parameters, network, program())]


def program(actions: str = "enqueue, allocate, backfill", arguments: str = "") -> Program:
    registry = built_in_registry(())
    text = DEFAULT_TEXT.replace("enqueue, allocate, backfill", actions)
    text += f"  - name: network-topology-aware\n    arguments: {{{arguments}}}\n"
    return Program(parse_configuration(text, registry), registry)


def _unconstrained(parameters: Parameters, runs: int) -> Result:
    """Gangs without a constraint: their rate with the plugin, and in `more` against that without it."""
    result = _measured("unconstrained", parameters, _plain_gangs, runs)
    without = _measured("unconstrained", parameters, _plain_gangs, runs, new_program())
    silent = program(arguments="hypernode.binpack.normal-pod.enable: false")
    without_preference = _measured("unconstrained", parameters, _plain_gangs, runs, silent)
    rate = without.placements_per_second
    result.more = {
        "rate_without_plugin": rate,
        "part_of_rate_without_plugin": result.placements_per_second / rate,
        "part_without_preference": without_preference.placements_per_second / rate,
    }
    return result


def _measured(
    shape: str,
    parameters: Parameters,
    make: Callable[[Parameters], Objects],
    runs: int,
    measured: Program | None = None,
) -> Result:
    """The fastest of several cycles, by default with the plugin."""
    cluster = Cluster()
    clusters.fill(cluster, make(parameters))
    prepared(cluster)
    aware = measured or program()
    best: Result | None = None
    timings = []
    for _ in range(runs):
        session, seconds, phases = run_cycle(cluster, aware)
        placed = sum(len(statement) for statement in session.decisions.binds)
        timings.append(seconds)
        if best is None or seconds < best.seconds:
            best = Result(f"topology.{shape}", parameters, seconds, placed, placed / seconds, phases)
        del session
    assert best is not None
    best.runs = timings
    return finished(best)


def _plain_gangs(parameters: Parameters) -> Objects:
    """Fifty racks, and gangs of fifty templates that may be anywhere."""
    yield from standard_queues()
    yield from network([clusters.node(number) for number in range(parameters["nodes"])], [50])
    for number in range(parameters["gangs"]):
        yield from clusters.job(f"gang-{number:04}", parameters["size"], clusters.template(number % clusters.TEMPLATES))


def _racks(parameters: Parameters) -> Objects:
    """Fifty racks, and gangs that must each be in one."""
    yield from standard_queues()
    yield from network([clusters.plain_node(number, 16) for number in range(parameters["nodes"])], [50])
    for number in range(parameters["gangs"]):
        yield from with_constraint(
            HARD_RACK, clusters.job(f"gang-{number:04}", parameters["size"], clusters.cpu_template())
        )


def _tree(parameters: Parameters) -> Objects:
    """Zones of blocks of racks of hosts, and one gang of a pod per host that prefers a rack."""
    yield from standard_queues()
    zones, blocks, racks, hosts = (parameters[key] for key in ("zones", "blocks", "racks", "hosts"))
    nodes = [clusters.plain_node(number, 1) for number in range(zones * blocks * racks * hosts)]
    yield from network(nodes, [zones * blocks * racks, zones * blocks, zones])
    yield from with_constraint(_SOFT, clusters.job("gang", len(nodes), clusters.cpu_template()))


def _parts(parameters: Parameters) -> Objects:
    """A hundred racks, and a job of as many sub-groups of which each must be in one."""
    yield from standard_queues()
    parts, size = parameters["parts"], parameters["size"]
    yield from network([clusters.plain_node(number, 2) for number in range(parameters["nodes"])], [parts])
    policy = KubeSubGroupPolicy(
        name="part", sub_group_size=size, min_sub_groups=parts, match_label_keys=[_PART], network_topology=HARD_RACK
    )
    for place, entry in enumerate(clusters.job("job", parts * size, clusters.cpu_template())):
        if isinstance(entry, kube.PodGroup):
            spec = msgspec.structs.replace(entry.spec, sub_group_policy=[policy])
            yield msgspec.structs.replace(entry, spec=spec)
        else:
            labels = {_PART: str((place - 1) // size)}
            yield msgspec.structs.replace(entry, metadata=msgspec.structs.replace(entry.metadata, labels=labels))


def with_constraint(constraint: KubeNetworkTopology, objects: Objects) -> Objects:
    for entry in objects:
        if isinstance(entry, kube.PodGroup):
            entry = msgspec.structs.replace(
                entry, spec=msgspec.structs.replace(entry.spec, network_topology=constraint)
            )
        yield entry


def network(nodes: list[kube.KubeNode], domains: list[int]) -> Objects:
    """The nodes, and the given number of domains of each tier; the first number is that of racks."""
    yield from nodes
    kind, members = "Node", [node.metadata.name for node in nodes]
    for tier, number in enumerate(domains, start=1):
        names = [f"tier-{tier}-{place:04}" for place in range(number)]
        size = len(members) // number
        for place, name in enumerate(names):
            yield _domain(name, tier, kind, members[place * size : (place + 1) * size])
        kind, members = "HyperNode", names


def _domain(name: str, tier: int, kind: str, members: list[str]) -> KubeHyperNode:
    chosen = [
        HyperNodeMember(type=kind, selector=MemberSelector(exact_match=ExactMatch(name=member))) for member in members
    ]
    return KubeHyperNode(metadata=ObjectMeta(name=name, uid=name), spec=HyperNodeSpec(tier=tier, members=chosen))
