"""A plugin that never returns for one job: the leader gives up its lease, and its standby schedules the others."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from stromboli.kube.objects.catalogue import LEASES, POD_GROUPS
from stromboli.observability.process import ExitStatus
from stromboli.scheduler.set_aside import ANNOTATION
from testbed.plane import NAMESPACE, ControlPlane
from tests.e2e.environment.processes import LEASE, Ground, ground

PLUGIN = """
import time
from stromboli.api import Plugin

class Endless(Plugin):
    name = "endless"

    def job_ready(self, job):
        while job.key.endswith("/a-culprit"):
            {wait}
        return True
"""
POLICY = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: predicates
  - name: endless
"""
STUCK_AFTER = 2.0


async def reason_of(place: Ground, name: str) -> str:
    group = await place.client.get(POD_GROUPS, name, namespace=place.name)
    return next((each.reason or "" for each in group.status.conditions or () if each.type == "Unschedulable"), "")


@pytest.mark.parametrize("wait", ["pass", "time.sleep(3600)"], ids=["in a loop", "in a system call"])
async def test_standby_takes_over_and_sets_the_culprit_aside(
    plane: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wait: str
) -> None:
    policy = tmp_path / "policy.yaml"
    (tmp_path / "endless.py").write_text(PLUGIN.replace("{wait}", wait), encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    policy.write_text(POLICY, encoding="utf-8")
    options = (f"--scheduler-conf={policy}", "--plugin=endless:Endless", f"--stuck-after={STUCK_AFTER:g}s")
    async with ground(plane, tmp_path) as place:
        await place.create_nodes(4, 10)
        first = place.start(*options, elects=True)
        await place.until(lambda: "leadership acquired" in first.output, "the first replica leads")
        second = place.start(*options, elects=True)
        await place.create_gang("a-culprit", 3)
        await place.until(lambda: first.has_ended, "the first replica has given up")
        assert first.ends() == ExitStatus.STUCK
        assert "a-culprit" in first.output
        given_up = time.monotonic()
        await place.until(lambda: "leadership acquired" in second.output, "the standby leads")
        assert time.monotonic() - given_up < LEASE, "the lease was released"

        await place.create_gang("b-gang", 5)
        await place.until_bound("b-gang", 5)
        await place.until_waiting("a-culprit")
        assert await reason_of(place, "a-culprit") == "SchedulingTooExpensive"
        assert await place.bound("a-culprit") == 0
        assert not second.has_ended
        lease = await place.client.get(LEASES, "stromboli", namespace=NAMESPACE)
        (entry,) = json.loads((lease.metadata.annotations or {})[ANNOTATION]).values()
        assert (entry["cause"], entry["failures"]) == ("stuck", 1)
        assert entry["until"] - time.time() > 10.0
