"""Changes to the placement constraints of the pods of a job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import msgspec

from stromboli import kube
from stromboli.core.model.nodes.table import Taint
from stromboli.core.model.nodes.taints import REPELLING_EFFECTS, tolerates
from stromboli.kube.objects.constraints import REQUIRED
from stromboli.planner.candidates.candidate import RemedyCandidate, describe_pods, edit, single
from stromboli.planner.changes import Edit, Path
from stromboli.planner.job_context import JobContext, MemberPod

_MAX_TAINTS = 6
_NODE_AFFINITY: Path = ("spec", "affinity", "nodeAffinity", REQUIRED)


def more_tolerations(context: JobContext) -> Iterator[RemedyCandidate]:
    """Add a toleration for one taint, the most frequent first."""
    taints = Counter(taint for node in context.node_facts for taint in node.taints if taint.effect in REPELLING_EFFECTS)
    for taint, _ in sorted(taints.items(), key=lambda entry: (-entry[1], str(entry[0])))[:_MAX_TAINTS]:
        repelled = [m for m in context.waiting if not tolerates(m.task.task_class.tolerations, taint)]
        if repelled:
            pods = [member.pod for member in repelled]
            description = f"add a toleration for taint {taint} to {describe_pods(pods)}"
            yield single("add-toleration", description, *(_tolerating(pod, taint) for pod in pods))


def _tolerating(pod: kube.Pod, taint: Taint) -> Edit:
    operator, value = ("Equal", taint.value) if taint.value else ("Exists", None)
    toleration = kube.KubeToleration(key=taint.key, operator=operator, value=value, effect=taint.effect)
    before = pod.spec.tolerations
    return edit(pod, ("spec", "tolerations"), before, [*(before or ()), toleration])


def without_node_selectors(context: JobContext) -> Iterator[RemedyCandidate]:
    """Drop one label of the node selector."""
    labels = dict.fromkeys(
        label for member in context.waiting for label in (member.pod.spec.node_selector or {}).items()
    )
    for key, value in labels:
        pods = [m.pod for m in context.waiting if (m.pod.spec.node_selector or {}).get(key) == value]
        edits = [edit(pod, ("spec", "nodeSelector", key), value, None) for pod in pods]
        yield single("drop-node-selector", f"drop node selector {key}={value} from {describe_pods(pods)}", *edits)


def without_node_affinity(context: JobContext) -> Iterator[RemedyCandidate]:
    """Drop one label of the required node affinity."""
    labels = dict.fromkeys(key for member in context.waiting for term in _terms(member.pod) for key in _labels_of(term))
    for key in labels:
        pods = [m.pod for m in context.waiting if any(key in _labels_of(term) for term in _terms(m.pod))]
        edits = [edit(pod, _NODE_AFFINITY, _required_nodes(pod), _without(pod, key)) for pod in pods]
        description = f"drop the required node affinity for {key} from {describe_pods(pods)}"
        yield single("drop-node-affinity", description, *edits)


def _required_nodes(pod: kube.Pod) -> kube.NodeSelector | None:
    affinity = pod.spec.affinity
    return affinity.node_affinity.required if affinity and affinity.node_affinity else None


def _terms(pod: kube.Pod) -> Sequence[kube.NodeSelectorTerm]:
    required = _required_nodes(pod)
    return (required and required.node_selector_terms) or ()


def _labels_of(term: kube.NodeSelectorTerm) -> list[str]:
    return [expression.key for expression in term.match_expressions or () if expression.key]


def _without(pod: kube.Pod, key: str) -> kube.NodeSelector | None:
    """Return the requirement without a label; None if nothing else is left."""
    terms = []
    for term in _terms(pod):
        left = [expression for expression in term.match_expressions or () if expression.key != key]
        if not left and not term.match_fields:
            return None
        terms.append(msgspec.structs.replace(term, match_expressions=left))
    return kube.NodeSelector(terms)


def without_pod_affinity(context: JobContext) -> Iterator[RemedyCandidate]:
    """Drop the required pod affinity or anti-affinity."""
    yield from _dropped(context, "podAffinity", "pod affinity", lambda affinity: affinity.pod_affinity)
    yield from _dropped(context, "podAntiAffinity", "pod anti-affinity", lambda affinity: affinity.pod_anti_affinity)


def _dropped(
    context: JobContext, field: str, label: str, part: Callable[[kube.Affinity], kube.KubePodAffinity | None]
) -> Iterator[RemedyCandidate]:
    edits = []
    for member in context.waiting:
        terms = part(member.pod.spec.affinity) if member.pod.spec.affinity else None
        if terms is not None and terms.required:
            edits.append(edit(member.pod, ("spec", "affinity", field, REQUIRED), terms.required, None))
    if edits:
        owners = "1 pod" if len(edits) == 1 else f"{len(edits)} pods"
        yield single(f"drop-{label.replace(' ', '-')}", f"drop the required {label} from {owners}", *edits)


def without_spreading(context: JobContext) -> Iterator[RemedyCandidate]:
    """Make topology spread constraints soft."""
    strict = [member for member in context.waiting if _strict(member)]
    edits = [
        edit(m.pod, ("spec", "topologySpreadConstraints"), m.pod.spec.topology_spread_constraints, _relaxed(m))
        for m in strict
    ]
    if edits:
        pods = describe_pods([member.pod for member in strict])
        yield single(
            "relax-spreading",
            f"make the topology spread constraints of {pods} soft (whenUnsatisfiable: ScheduleAnyway)",
            *edits,
        )


def without_hard_topology(context: JobContext) -> Iterator[RemedyCandidate]:
    """Make a hard network topology soft."""
    group, topology = context.group, context.job.spec.topology
    if group is None or group.spec.network_topology is None or topology is None or not topology.hard:
        return
    description = f"make the network topology of PodGroup {group.key} soft (networkTopology.mode: soft)"
    terms = group.spec.network_topology.mode
    yield single("relax-topology", description, edit(group, ("spec", "networkTopology", "mode"), terms, "soft"))


def _strict(member: MemberPod) -> bool:
    constraints = member.pod.spec.topology_spread_constraints or ()
    return any(constraint.when_unsatisfiable != "ScheduleAnyway" for constraint in constraints)


def _relaxed(member: MemberPod) -> list[kube.TopologySpreadConstraint]:
    constraints = member.pod.spec.topology_spread_constraints or ()
    return [msgspec.structs.replace(entry, when_unsatisfiable="ScheduleAnyway") for entry in constraints]
