"""A cycle leaves no session behind: reported messages are plain strings by then."""

from __future__ import annotations

import gc
import weakref
from typing import cast

from stromboli.kube.client.client import Client
from stromboli.scheduler.loop import Scheduler
from tests.testing.cases.case import configuration, flattened, objects, plugin
from tests.testing.manifests.builders import gang, nodes, priority_class, queue, running
from tests.testing.world import policy_of

PREEMPT = configuration("priority", plugin("gang", enablePreemptable=False), "predicates", actions="allocate, preempt")
FULL = [
    queue("default"), nodes(1, 1), priority_class("high", 9), running("a", name="old"),
    gang(1, name="new", priority="high", phase="Inqueue"), gang(1, 5, name="huge", priority="high", phase="Inqueue"),
]  # fmt: skip


async def test_the_next_cycle_is_all_that_is_kept() -> None:
    scheduler = Scheduler(cast(Client, None), policy_of(PREEMPT))
    for entry in objects(flattened(FULL)):
        scheduler.ingest.apply(entry)
    first = scheduler.cycles.run(scheduler.policy.program)
    assert (first.evictions, first.session.records, first.session.eviction_notes) == (1, None, {})
    session = weakref.ref(first.session)
    del first
    gc.disable()
    try:
        scheduler.cycles.run(scheduler.policy.program)
        assert session() is None, "no garbage collection is needed"
    finally:
        gc.enable()
