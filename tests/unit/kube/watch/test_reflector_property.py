"""Any history, cut anywhere, compacted at any time and with repeated events, ends in a sink with the true state."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import PODS
from stromboli.kube.watch.reflector import Reflector
from stromboli.kube.work.retry import RetryPolicy
from tests.testing.kube import responses
from tests.testing.kube.http_server import LittleServer
from tests.testing.kube.sinks import RecordingSink
from tests.testing.kube.waiting import running, until
from tests.testing.random_clusters.effort import examples

NAMES = st.sampled_from("abcd")
STEPS = st.one_of(
    st.tuples(st.just("put"), NAMES),
    st.tuples(st.just("put"), NAMES),
    st.tuples(st.just("delete"), NAMES),
    st.sampled_from([("drop_watches",), ("forget_history",), ("pause",), ("refuse",), ("expire",), ("cut",)]),
)


def play(server: LittleServer, step: tuple[str, ...]) -> None:
    match step:
        case ["refuse"]:
            server.play(responses.answer(503, "ServiceUnavailable"))
        case ["expire"]:
            server.play(responses.answer(410, "Expired"), watch=True)
        case ["cut"]:
            server.play(responses.cut)
        case [action, *names]:
            getattr(server, action)(*names)


async def live_through(steps: list[tuple[str, ...]], streams_lists: bool, echoes: bool) -> None:
    async with LittleServer(streams_lists, echoes=echoes) as server, Client(server.connection, timeout=30) as client:
        sink = RecordingSink()
        reflector = Reflector(client, PODS, sink, page_size=2, retry=RetryPolicy(min_delay=0.0005, max_delay=0.002))
        async with running(reflector.run()):
            for step in steps:
                if step == ("pause",):
                    await until(lambda: sink.versions == server.pods(), lambda: (sink.versions, server.pods()))
                else:
                    play(server, step)
                    await asyncio.sleep(0)
            await until(lambda: sink.versions == server.pods(), lambda: (sink.versions, server.pods(), sink.calls_text))
            assert reflector.handler_failures == 0


@examples(60)
@given(st.lists(STEPS, max_size=25), st.booleans(), st.booleans())
def test_the_sink_ends_up_knowing_what_is_there(
    steps: list[tuple[str, ...]], streams_lists: bool, echoes: bool
) -> None:
    asyncio.run(live_through(steps, streams_lists, echoes))
