"""Disruption budgets: the arithmetic as a table, and evictions over HTTP."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, NamedTuple

import msgspec
import pytest
import pytest_asyncio

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import Client, PatchKind
from stromboli.kube.objects.catalogue import DISRUPTION_BUDGETS, PODS
from stromboli.kube.objects.cluster import PodDisruptionBudget
from stromboli.kube.objects.meta import KubeLabelSelector, KubeRequirement
from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.selectors import matches
from stromboli.kube.objects.timestamps import stamp
from stromboli.kube.watch.informer import Informer
from stromboli.local.fakes.disruption import DisruptionController, count, desired_healthy, expires_in
from tests.unit.local.fakes.running import running, until

NOW = 1_800_000_000.0
READY = {"type": "Ready", "status": "True"}


def budget(disrupted: dict[str, str] | None = None, **spec: Any) -> PodDisruptionBudget:
    return msgspec.convert({"spec": spec, "status": {"disruptedPods": disrupted or {}}}, PodDisruptionBudget)


def pod(name: str, phase: str = "Running", ready: bool = True, **metadata: Any) -> Pod:
    status = {"phase": phase, "conditions": [READY] if ready else []}
    return msgspec.convert({"metadata": {"name": name, **metadata}, "status": status}, Pod)


class Case(NamedTuple):
    title: str
    budget: PodDisruptionBudget
    pods: list[Pod]
    healthy: int
    desired: int
    allowed: int


FOUR = [pod(name) for name in "abcd"]
GOING = pod("a", deletionTimestamp=stamp(NOW))

CASES = [
    Case("no bounds", budget(), FOUR, 4, 0, 4),
    Case("a minimum", budget(minAvailable=3), FOUR, 4, 3, 1),
    Case("a minimum beyond all", budget(minAvailable=9), FOUR, 4, 9, 0),
    Case("half of them, rounded up", budget(minAvailable="50%"), FOUR[:3], 3, 2, 1),
    Case("at most one at a time", budget(maxUnavailable=1), FOUR, 4, 3, 1),
    Case("at most a third, rounded up", budget(maxUnavailable="33%"), FOUR, 4, 2, 2),
    Case("one is not well", budget(maxUnavailable=1), [*FOUR[:3], pod("d", ready=False)], 3, 3, 0),
    Case("one is going already", budget(maxUnavailable=1), [GOING, *FOUR[1:]], 3, 3, 0),
    Case("one was granted to go", budget({"a": stamp(NOW)}, maxUnavailable=2), FOUR, 3, 2, 1),
    Case("one was granted and stayed", budget({"a": stamp(NOW - 121)}, maxUnavailable=2), FOUR, 4, 2, 2),
    Case("granted eviction observed", budget({"z": stamp(NOW)}, maxUnavailable=1), FOUR, 4, 3, 1),
    Case("those that are done do not count", budget(minAvailable=1), [pod("a", "Succeeded")], 0, 1, 0),
    Case("no pods", budget(maxUnavailable=1), [], 0, 0, 0),
    Case("nonsense", budget(minAvailable="some"), FOUR, 4, 0, 4),
]


@pytest.mark.parametrize("case", CASES, ids=[case.title for case in CASES])
def test_count(case: Case) -> None:
    result = count(case.budget, case.pods, NOW)
    assert (result.healthy, result.desired, result.allowed) == (case.healthy, case.desired, case.allowed)


def test_granted_eviction_expires() -> None:
    assert expires_in({}, NOW) is None
    assert expires_in({"a": stamp(NOW - 100), "b": stamp(NOW)}, NOW) == 20
    assert desired_healthy(budget(minAvailable="101%"), 100) == 101


SELECTORS = [
    ("none", None, {"a": "1"}, False),
    ("everything", KubeLabelSelector(), None, True),
    ("a label", KubeLabelSelector(match_labels={"a": "1"}), {"a": "1", "b": "2"}, True),
    ("another value", KubeLabelSelector(match_labels={"a": "1"}), {"a": "2"}, False),
    ("in", KubeLabelSelector(match_expressions=[KubeRequirement("a", "In", ["1", "2"])]), {"a": "2"}, True),
    ("not in, absent", KubeLabelSelector(match_expressions=[KubeRequirement("a", "NotIn", ["1"])]), {}, True),
    ("exists", KubeLabelSelector(match_expressions=[KubeRequirement("a", "Exists")]), {"a": ""}, True),
    ("does not exist", KubeLabelSelector(match_expressions=[KubeRequirement("a", "DoesNotExist")]), {"a": ""}, False),
    ("invalid time", KubeLabelSelector(match_expressions=[KubeRequirement("a", "Like", ["1"])]), {"a": "1"}, False),
]


@pytest.mark.parametrize(("selector", "labels", "expected"), [c[1:] for c in SELECTORS], ids=[c[0] for c in SELECTORS])
def test_label_selector_matching(
    selector: KubeLabelSelector | None, labels: dict[str, str] | None, expected: bool
) -> None:
    assert matches(selector, labels) is expected


@pytest_asyncio.fixture
async def controller(client: Client) -> AsyncIterator[DisruptionController]:
    budgets, pods = Informer(client, DISRUPTION_BUDGETS), Informer(client, PODS)
    controller = DisruptionController(client, budgets, pods)
    async with running(budgets, pods, controller):
        yield controller


async def create_budget(client: Client, **spec: Any) -> None:
    body = {"metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": {"app": "web"}}, **spec}}
    await client.create(DISRUPTION_BUDGETS, body, namespace="default")


async def create_ready(client: Client, name: str) -> Pod:
    spec = {"containers": [{"name": "main", "image": "x"}], "nodeName": "n"}
    body = {"metadata": {"name": name, "labels": {"app": "web"}}, "spec": spec}
    await client.create(PODS, body, namespace="default")
    status = {"status": {"phase": "Running", "conditions": [READY]}}
    return await client.patch(PODS, name, status, namespace="default", subresource="status", kind=PatchKind.STRATEGIC)


def budget_status(client: Client, **expected: Any) -> Callable[[], Awaitable[bool]]:
    async def look() -> bool:
        status = (await client.get(DISRUPTION_BUDGETS, "web", namespace="default")).status
        return all(getattr(status, field) == value for field, value in expected.items())

    return look


@pytest.mark.usefixtures("controller")
async def test_budget_status_follows_pods(client: Client) -> None:
    await create_budget(client, maxUnavailable=1)
    await until(budget_status(client, disruptions_allowed=0, expected_pods=0))
    for name in "abc":
        await create_ready(client, name)
    await until(budget_status(client, disruptions_allowed=1, expected_pods=3, current_healthy=3, desired_healthy=2))
    await client.patch(PODS, "a", {"metadata": {"labels": {"app": "other"}}}, namespace="default")
    await until(budget_status(client, expected_pods=2))
    await client.patch(DISRUPTION_BUDGETS, "web", {"spec": {"maxUnavailable": 2}}, namespace="default")
    await until(budget_status(client, disruptions_allowed=2))


@pytest.mark.usefixtures("controller")
async def test_disruption_is_granted_once_and_restored(client: Client) -> None:
    await create_budget(client, minAvailable=2)
    pods = [await create_ready(client, name) for name in "abc"]
    await until(budget_status(client, disruptions_allowed=1))
    await client.evict("default", "a", pods[0].metadata.uid)
    with pytest.raises(ApiError) as refusal:
        await client.evict("default", "b", pods[1].metadata.uid)
    assert refusal.value.is_throttled
    await client.delete(PODS, "a", namespace="default", grace_period=0)
    await create_ready(client, "d")
    await until(budget_status(client, disruptions_allowed=1, expected_pods=3, disrupted_pods=None))
    await client.evict("default", "b", pods[1].metadata.uid)
