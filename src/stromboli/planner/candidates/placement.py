"""Changes to where the pods of a job may run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import msgspec

from stromboli import kube
from stromboli.core.model.nodes.table import Taint
from stromboli.core.model.nodes.taints import REPELLING_EFFECTS, tolerates
from stromboli.kube.objects.constraints import REQUIRED
from stromboli.planner.candidates.candidate import Candidate, describe_pods, edit, single
from stromboli.planner.changes import Edit, Path
from stromboli.planner.job_context import JobContext, Member

_MAX_TAINTS = 6
_NODE_AFFINITY: Path = ("spec", "affinity", "nodeAffinity", REQUIRED)


def more_tolerations(situation: JobContext) -> Iterator[Candidate]:
    """A toleration for one taint, the commonest first."""
    taints = Counter(
        taint for node in situation.node_facts for taint in node.taints if taint.effect in REPELLING_EFFECTS
    )
    for taint, _ in sorted(taints.items(), key=lambda entry: (-entry[1], str(entry[0])))[:_MAX_TAINTS]:
        repelled = [m for m in situation.waiting if not tolerates(m.task.task_class.tolerations, taint)]
        if repelled:
            pods = [member.pod for member in repelled]
            sentence = f"add a toleration for taint {taint} to {describe_pods(pods)}"
            yield single("add-toleration", sentence, *(_tolerating(pod, taint) for pod in pods))


def _tolerating(pod: kube.Pod, taint: Taint) -> Edit:
    operator, value = ("Equal", taint.value) if taint.value else ("Exists", None)
    toleration = kube.KubeToleration(key=taint.key, operator=operator, value=value, effect=taint.effect)
    before = pod.spec.tolerations
    return edit(pod, ("spec", "tolerations"), before, [*(before or ()), toleration])


def without_node_selectors(situation: JobContext) -> Iterator[Candidate]:
    """One label less that nodes must have."""
    labels = dict.fromkeys(
        label for member in situation.waiting for label in (member.pod.spec.node_selector or {}).items()
    )
    for key, value in labels:
        pods = [m.pod for m in situation.waiting if (m.pod.spec.node_selector or {}).get(key) == value]
        edits = [edit(pod, ("spec", "nodeSelector", key), value, None) for pod in pods]
        yield single("drop-node-selector", f"drop node selector {key}={value} from {describe_pods(pods)}", *edits)


def without_node_affinity(situation: JobContext) -> Iterator[Candidate]:
    """One label less that the required node affinity speaks of."""
    labels = dict.fromkeys(
        key for member in situation.waiting for term in _terms(member.pod) for key in _labels_of(term)
    )
    for key in labels:
        pods = [m.pod for m in situation.waiting if any(key in _labels_of(term) for term in _terms(m.pod))]
        edits = [edit(pod, _NODE_AFFINITY, _required_nodes(pod), _without(pod, key)) for pod in pods]
        sentence = f"drop the required node affinity for {key} from {describe_pods(pods)}"
        yield single("drop-node-affinity", sentence, *edits)


def _required_nodes(pod: kube.Pod) -> kube.NodeSelector | None:
    affinity = pod.spec.affinity
    return affinity.node_affinity.required if affinity and affinity.node_affinity else None


def _terms(pod: kube.Pod) -> Sequence[kube.NodeSelectorTerm]:
    required = _required_nodes(pod)
    return (required and required.node_selector_terms) or ()


def _labels_of(term: kube.NodeSelectorTerm) -> list[str]:
    return [expression.key for expression in term.match_expressions or () if expression.key]


def _without(pod: kube.Pod, key: str) -> kube.NodeSelector | None:
    """The requirement without what it says of a label. Where nothing else is said, every node will do."""
    terms = []
    for term in _terms(pod):
        left = [expression for expression in term.match_expressions or () if expression.key != key]
        if not left and not term.match_fields:
            return None
        terms.append(msgspec.structs.replace(term, match_expressions=left))
    return kube.NodeSelector(terms)


def without_pod_affinity(situation: JobContext) -> Iterator[Candidate]:
    """No pods that these must be near, or stay away from."""
    yield from _dropped(situation, "podAffinity", "pod affinity", lambda affinity: affinity.pod_affinity)
    yield from _dropped(situation, "podAntiAffinity", "pod anti-affinity", lambda affinity: affinity.pod_anti_affinity)


def _dropped(
    situation: JobContext, field: str, words: str, part: Callable[[kube.Affinity], kube.KubePodAffinity | None]
) -> Iterator[Candidate]:
    edits = []
    for member in situation.waiting:
        given = part(member.pod.spec.affinity) if member.pod.spec.affinity else None
        if given is not None and given.required:
            edits.append(edit(member.pod, ("spec", "affinity", field, REQUIRED), given.required, None))
    if edits:
        owners = "1 pod" if len(edits) == 1 else f"{len(edits)} pods"
        yield single(f"drop-{words.replace(' ', '-')}", f"drop the required {words} from {owners}", *edits)


def without_spreading(situation: JobContext) -> Iterator[Candidate]:
    """Even spreading as a wish instead of a must."""
    strict = [member for member in situation.waiting if _strict(member)]
    edits = [
        edit(m.pod, ("spec", "topologySpreadConstraints"), m.pod.spec.topology_spread_constraints, _relaxed(m))
        for m in strict
    ]
    if edits:
        pods = describe_pods([member.pod for member in strict])
        yield single("relax-spreading", f"let {pods} spread unevenly (whenUnsatisfiable: ScheduleAnyway)", *edits)


def without_hard_topology(situation: JobContext) -> Iterator[Candidate]:
    """Nodes that lie close together as a wish instead of a must."""
    group, topology = situation.group, situation.job.spec.topology
    if group is None or group.spec.network_topology is None or topology is None or not topology.hard:
        return
    sentence = f"let PodGroup {group.key} spread over the network (networkTopology.mode: soft)"
    given = group.spec.network_topology.mode
    yield single("relax-topology", sentence, edit(group, ("spec", "networkTopology", "mode"), given, "soft"))


def _strict(member: Member) -> bool:
    constraints = member.pod.spec.topology_spread_constraints or ()
    return any(constraint.when_unsatisfiable != "ScheduleAnyway" for constraint in constraints)


def _relaxed(member: Member) -> list[kube.TopologySpreadConstraint]:
    constraints = member.pod.spec.topology_spread_constraints or ()
    return [msgspec.structs.replace(entry, when_unsatisfiable="ScheduleAnyway") for entry in constraints]
