"""Repairs make reserved GPUs those that are required, act only on differences seen twice, and release no GPU in use."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stromboli.binding.reservations.demand import SharingPod, is_expected, member_of, required_gpus
from stromboli.binding.reservations.repairs import ReservationState, differences, repairs
from stromboli.binding.reservations.reservation_pods import SharedGpu, reservation_pod_name
from stromboli.core.model.devices.gpu_fractions import GROUPS
from stromboli.kube.objects.bind_requests import BindRequest, BindRequestSpec, BindRequestStatus, BoundPod, MemberStatus
from stromboli.kube.objects.meta import ObjectMeta
from stromboli.kube.objects.pod import Pod, PodSpec, PodStatus
from tests.testing.random_clusters.effort import examples

NAMESPACE = "stromboli-reservations"

gpus = st.builds(SharedGpu, st.sampled_from("ab"), st.sampled_from("xyz"))
names = st.sampled_from(["one", "two", "three"])
uids = st.sampled_from(["1", "2", "3"])
groups = st.lists(st.sampled_from("xyz"), max_size=2, unique=True)

pods = st.builds(
    lambda uid, name, node, groups, phase: Pod(
        metadata=ObjectMeta(
            name=name, namespace="default", uid=uid, annotations={GROUPS: ",".join(groups)} if groups else None
        ),
        spec=PodSpec(node_name=node),
        status=PodStatus(phase=phase),
    ),
    uids, names, st.sampled_from([None, "a", "b"]), groups, st.sampled_from(["Pending", "Running", "Succeeded"]),
)  # fmt: skip
requests = st.builds(
    lambda uid, name, node, groups, phase, member: BindRequest(
        metadata=ObjectMeta(name=f"{name}-request", namespace="default"),
        spec=BindRequestSpec(
            pods=[BoundPod(pod_name=name, pod_uid=uid, selected_node=node, selected_gpu_groups=groups)]
        ),
        status=BindRequestStatus(phase=phase, pods=[MemberStatus(uid, member)]),
    ),
    uids, names, st.sampled_from("ab"), groups, st.sampled_from(["", "Binding", "Succeeded", "Failed"]),
    st.sampled_from(["", "Binding", "Bound", "Failed", "Unwound"]),
)  # fmt: skip
held = st.builds(
    lambda gpu, uid, ended, leaving: ReservationState(gpu, reservation_pod_name(gpu), uid, ended, leaving),
    gpus, uids, st.booleans(), st.booleans(),
)  # fmt: skip


def known_in(listed: list[Pod]) -> dict[str, Pod]:
    """One pod of each name, and of each uid."""
    by_uid = {pod.metadata.uid: pod for pod in listed}
    return {pod.metadata.name: pod for pod in by_uid.values()}


@examples(100)
@given(
    listed=st.lists(pods, max_size=4), open_requests=st.lists(requests, max_size=3), there=st.lists(held, max_size=5)
)
def test_two_checks_repair_everything(
    listed: list[Pod], open_requests: list[BindRequest], there: list[ReservationState]
) -> None:
    known = known_in(listed)
    existing = list({each.gpu: each for each in there}.values())
    required = required_gpus(known.values(), open_requests, (), lambda _, name: known.get(name), NAMESPACE)
    first = repairs(required, existing, ())
    assert first.delete == () == first.create
    second = repairs(required, existing, first.seen)
    for deleted in second.delete:
        assert deleted.has_ended or deleted.gpu not in required
    left = [each for each in existing if each not in second.delete]
    left += [ReservationState(gpu, reservation_pod_name(gpu), "new") for gpu in second.create]
    after = repairs(required, left, differences(required, left))
    left = [each for each in left if each not in after.delete]
    left += [ReservationState(gpu, reservation_pod_name(gpu), "new") for gpu in after.create]
    assert differences(required, left) == frozenset()
    used = {gpu for gpu, who in required.items() if any(member.is_bound for member in who)}
    assert used <= {each.gpu for each in left} <= {*required, *(each.gpu for each in left if each.is_leaving)}


@examples(100)
@given(listed=st.lists(pods, max_size=4), open_requests=st.lists(requests, max_size=3))
def test_gpu_of_running_or_expected_pods_is_required(listed: list[Pod], open_requests: list[BindRequest]) -> None:
    known = known_in(listed)
    required = required_gpus(known.values(), open_requests, (), lambda _, name: known.get(name), NAMESPACE)
    for pod in known.values():
        member = member_of(pod, NAMESPACE)
        if member is not None:
            assert all(pod.metadata.uid in {each.uid for each in required[gpu]} for gpu in member.gpus)
    for request in open_requests:
        [bound], [state] = request.spec.pods, request.status.pods
        is_open = request.status.phase in ("", "Binding") and state.phase in ("", "Binding")
        if is_open and bound.pod_name not in known:
            coming = SharingPod(bound.pod_uid, bound.selected_node, tuple(bound.selected_gpu_groups))
            assert is_expected(coming, None)
            assert all(gpu in required for gpu in coming.gpus)
