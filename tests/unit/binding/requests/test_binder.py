"""A binder across restarts, beside another binder, and with failing plugins."""

from __future__ import annotations

import asyncio
import itertools

import pytest
from click.testing import CliRunner

from stromboli.binding.orders import DONE, Result
from stromboli.binding.plugins.plugin import BinderPlugin, Placement
from stromboli.binding.pod_binding import ParallelBinds, PodBinder
from stromboli.binding.requests.placements import bound_placement
from stromboli.binding.requests.wiring import BinderOptions
from stromboli.cli import main
from stromboli.kube.objects.bind_requests import BindRequest, BoundPod
from stromboli.kube.objects.catalogue import BIND_REQUESTS, NODES
from stromboli.kube.objects.meta import ObjectMeta, TopLevel
from tests.testing.binder.binder_world import World
from tests.testing.virtual_time import run_virtually

CORDONED = {"spec": {"unschedulable": True}}


async def attempts(world: World) -> int:
    return (await world.found("gang")).status.failed_attempts


def test_restarted_binder_continues_the_attempt_count() -> None:
    async def scenario() -> None:
        world = World()
        await world.node("a")
        await world.client.patch(NODES, "a", CORDONED)
        await world.gang("gang", "a", backoffLimit=5)
        first = world.start()
        await world.until(lambda: _is(world, 3))
        first.kill()
        second = world.start()
        await world.until_settled()
        assert await attempts(world) == 5
        assert second.passed.count("after patch bindrequests/status") == 2
        await world.close()

    run_virtually(scenario())


async def _is(world: World, number: int) -> bool:
    return await attempts(world) == number


def test_delay_doubles_up_to_the_maximum() -> None:
    async def scenario() -> None:
        world = World()
        await world.node("a")
        await world.client.patch(NODES, "a", CORDONED)
        await world.gang("gang", "a", backoffLimit=7, deadlineSeconds=600)
        world.start(options=BinderOptions(min_retry_delay=1.0, max_retry_delay=8.0, event_rate=0))
        seen, clock = [], asyncio.get_running_loop().time
        for number in range(1, 8):
            await world.until(lambda number=number: _is(world, number))  # type: ignore[misc]
            seen.append(clock())
        pauses = [later - earlier for earlier, later in itertools.pairwise(seen)]
        assert pauses == pytest.approx([1, 2, 4, 8, 8, 8], abs=0.5)
        await world.close()

    run_virtually(scenario())


def test_binder_of_an_earlier_term_stops_when_a_later_term_writes() -> None:
    async def scenario() -> None:
        world = World()
        await world.node("a", cpu=20)
        old = world.start()
        await world.gang("first", "aa")
        await world.until_settled()
        later = {"status": {"epoch": 99}}
        await world.client.patch(BIND_REQUESTS, "first", later, namespace="default", subresource="status")
        await asyncio.sleep(1.0)
        said = len(old.passed)
        await world.gang("second", "aa")
        await asyncio.sleep(60.0)
        assert await world.places("second") == "--"
        assert old.passed[said:] == []
        await world.close()

    run_virtually(scenario())


# -- how much at a time --------------------------------------------------------------------------------------------


class CountingBinder(PodBinder):
    """Binds no pod, and counts binds in flight."""

    def __init__(self) -> None:
        self.in_flight: dict[str, int] = {}
        self.maximum: dict[str, int] = {}

    async def bind(self, placement: Placement) -> Result:
        now = self.in_flight[placement.node] = self.in_flight.get(placement.node, 0) + 1
        self.maximum[placement.node] = max(self.maximum.get(placement.node, 0), now)
        await asyncio.sleep(1.0)
        self.in_flight[placement.node] -= 1
        return DONE


@pytest.mark.parametrize("limit", [1, 3])
def test_binds_per_node_are_limited(limit: int) -> None:
    async def scenario() -> None:
        binder, request = CountingBinder(), BindRequest(metadata=ObjectMeta("gang", "default"))
        members = [BoundPod(f"pod-{number}", str(number), "ab"[number % 2]) for number in range(12)]
        binds = ParallelBinds(binder, per_node=limit)
        results = await binds.bind([bound_placement(request, member) for member in members], lambda placement: "")
        assert binder.maximum == {"a": limit, "b": limit}
        assert set(results.values()) == {DONE}
        assert binds.in_flight == 0

    run_virtually(scenario())


# -- plugins that misbehave ----------------------------------------------------------------------------------------


class FailingPlugin(BinderPlugin):
    """Fails wherever it can."""

    name = "clumsy"
    serving = 0

    def applies_to(self, placement: Placement) -> bool:
        if placement.annotations.get("doubtful"):
            raise RuntimeError("cannot say")
        return bool(placement.annotations.get("concerned"))

    async def pre_bind(self, placement: Placement) -> None:
        if placement.annotations.get("concerned") == "fails":
            raise RuntimeError("stumbled")

    async def post_bind(self, placement: Placement) -> None:
        raise RuntimeError("fell")

    def changed(self, entry: TopLevel, before: TopLevel | None) -> None:
        raise RuntimeError("deaf")

    async def serve(self) -> None:
        self.serving += 1
        raise RuntimeError("tired")


FAILING_PLUGIN = [
    ("of no concern", {}, "Succeeded", ""),
    ("after the bind nothing changes any more", {"concerned": "yes"}, "Succeeded", ""),
    ("who cannot say is asked", {"doubtful": "yes"}, "Succeeded", ""),
    ("a mistake is an attempt that failed", {"concerned": "fails"}, "Failed", "clumsy: RuntimeError: stumbled"),
]


@pytest.mark.parametrize(
    ("annotations", "phase", "reason"), [c[1:] for c in FAILING_PLUGIN], ids=[c[0] for c in FAILING_PLUGIN]
)
def test_failing_plugin_fails_only_the_pods_it_applies_to(annotations: dict[str, str], phase: str, reason: str) -> None:
    async def scenario() -> None:
        world, plugin = World(), FailingPlugin()
        await world.node("a")
        await world.pod("gang-0")
        await world.request("gang", {"gang-0": "a"}, facts={"gang-0": {"annotations": annotations}}, backoffLimit=2)
        await world.gang("other", "aa")
        world.start([plugin])
        await world.until_settled()
        found = await world.found("gang")
        assert (found.status.phase, found.status.reason) == (phase, reason)
        assert await world.places("other") == "aa"
        assert plugin.serving == 1
        assert await world.faults() == []
        await world.close()

    run_virtually(scenario())


# -- the command ---------------------------------------------------------------------------------------------------

REFUSED = [
    ("a plugin that is none", ["--plugin", "nothing"], 1, "'nothing' does not name a class"),
    ("an option of an unknown plugin", ["--plugin-option", "missing.x=1"], 1, "unknown binder plugin 'missing'"),
    ("pauses the wrong way round", ["--min-retry-delay", "2s", "--max-retry-delay", "1s"], 2, "must not be shorter"),
    ("no binds at all", ["--bind-workers", "0"], 2, "is not in the range"),
]


@pytest.mark.parametrize(("arguments", "code", "message"), [c[1:] for c in REFUSED], ids=[c[0] for c in REFUSED])
def test_command_rejects_invalid_arguments(arguments: list[str], code: int, message: str) -> None:
    done = CliRunner().invoke(main, ["binder", *arguments])
    assert done.exit_code == code
    assert message in done.output
