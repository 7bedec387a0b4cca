"""A hostile tenant beside ordinary ones: every family of objects, with a probe gang of another tenant.

Each family runs in a process of its own: cycles of the ordinary cluster, then with the hostile objects and the probe,
then after their deletion. Reported are the processor time until the probe is bound, the cycle time in relation to that
of the ordinary cluster, and the memory in relation to that before.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import multiprocessing
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, cast

import msgspec

from benchmarks import clusters
from benchmarks.churn import Nowhere
from benchmarks.hostile_families import DEVICES_PER_NODE, DRIVER, FAMILIES, GROUP, Manifest, manifest
from benchmarks.measurement import Result, new_program
from stromboli import kube
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.session.session import Session
from stromboli.kube.objects.kinds import decode
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.work.collection import collection_paused
from stromboli.kube.work.status_writer import StatusWriter
from stromboli.scheduler.reporting.announcer import EventAnnouncer
from stromboli.scheduler.reporting.reporter import StatusReporter

Parameters = dict[str, int]

#: The limits of the suite.
MAX_PROBE_SECONDS, MAX_CYCLE_RATIO, MAX_MEMORY_RATIO = 2.0, 2.0, 1.1
_CYCLES = 5
_PROBE = "probe"


@dataclass
class Tenancy:
    """What one family did to the others."""

    family: str
    objects: int
    base_seconds: float
    first_cycle_seconds: float = 0.0
    cycle_seconds: float = 0.0
    probe_seconds: float = 0.0
    memory_before: int = 0
    memory_during: int = 0
    memory_after: int = 0
    exceeded: list[str] = field(default_factory=list)

    @property
    def cycle_ratio(self) -> float:
        return self.cycle_seconds / self.base_seconds

    @property
    def memory_ratio(self) -> float:
        return self.memory_after / self.memory_before

    def judge(self) -> None:
        """Record the limits that were exceeded."""
        limits = (
            ("probe", self.probe_seconds, MAX_PROBE_SECONDS),
            ("cycle", self.cycle_ratio, MAX_CYCLE_RATIO),
            ("memory", self.memory_ratio, MAX_MEMORY_RATIO),
        )
        self.exceeded = [f"{name} {value:.2f} > {limit}" for name, value, limit in limits if value > limit]


class Tenants:
    """A cluster with jobs of ordinary tenants in two queues, one of which the probe will use."""

    def __init__(self, nodes: int, pods: int) -> None:
        self.cluster = clusters.empty_cluster(nodes)
        self._program, nowhere = new_program(), Nowhere()
        self._reporter = StatusReporter(
            self.cluster, cast(StatusWriter, nowhere), cast(EventAnnouncer, nowhere), refresh=60.0, clock=lambda: 0.0
        )
        guaranteed = {"weight": 1, "guarantee": {"resource": {"cpu": "16"}}}
        for entry in (_decoded(manifest("Queue", _PROBE, GROUP, None, spec=guaranteed)), *_devices(nodes)):
            self.cluster.apply(entry)
        for number in range(pods // 10):
            clusters.fill(self.cluster, clusters.job(f"job-{number:05}", 10, clusters.template(number % 50)))
        clusters.fill(self.cluster, clusters.job("beside-the-probe", 4, clusters.cpu_template(), queue=_PROBE))

    def cycle(self) -> tuple[float, set[str]]:
        """Run a cycle without executing its decisions; return its processor time, and the jobs that it starts."""
        with collection_paused():
            start = time.process_time()
            session = Session(self.cluster.snapshot(), self._program, uid="hostile")
            session.run()
            self._reporter.report(session)
            seconds = time.process_time() - start
        started = {statement[0].job for statement in session.decisions.binds}
        session.release()
        return seconds, started

    def clean_up(self) -> None:
        """Do what the scheduler does once a minute."""
        self.cluster.cluster_state()
        self._reporter.forget_gone()
        self.cluster.forget_classes()
        if self.cluster.needs_compaction:
            self.cluster.compact()


def _devices(nodes: int) -> Iterator[kube.KubeObject]:
    """A class, and devices in pairs on every node."""
    selectors = [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]
    version = "resource.k8s.io/v1"
    yield _decoded(manifest("DeviceClass", "device", version, None, spec={"selectors": selectors}))
    for number in range(nodes):
        name = f"node-{number:06}"
        devices = [{"name": f"d{n}", "attributes": {"slot": {"int": n // 2}}} for n in range(DEVICES_PER_NODE)]
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": DRIVER, "nodeName": name, "pool": pool, "devices": devices}
        yield _decoded(manifest("ResourceSlice", name, version, None, spec=spec))


def _decoded(document: Manifest) -> Any:
    metadata = document["metadata"]
    uid = "/".join((document["kind"], metadata.get("namespace", ""), metadata["name"]))
    return decode({**document, "metadata": {**metadata, "uid": uid}})


def _objects(documents: Sequence[Manifest]) -> list[TopLevel]:
    """Objects as the cache gets them: what cannot be decoded is quarantined before."""
    found: list[TopLevel] = []
    for document in documents:
        with contextlib.suppress(ValueError):
            found.append(_decoded(document))
    return found


def measure(family: str, nodes: int, pods: int, share: float = 1.0) -> Tenancy:
    """Run one family, with a share of the objects of the long suite."""
    make, number = FAMILIES[family]
    tenants, entries = Tenants(nodes, pods), _objects(make(max(1, int(number * share))))
    base = median([tenants.cycle()[0] for _ in range(_CYCLES)][1:])
    _warm_up(tenants, _objects(make(1)))
    result = Tenancy(family, len(entries), base, memory_before=_resident())
    probe = list(clusters.job(_PROBE, 4, clusters.cpu_template(), queue=_PROBE))
    for entry in (*entries, *probe):
        tenants.cluster.apply(entry)
    _attack(tenants, entries, result)
    for entry in (*probe, *reversed(entries)):
        tenants.cluster.remove(entry)
    entries.clear()
    tenants.cycle()
    tenants.clean_up()
    tenants.cycle()
    result.memory_after = _resident()
    result.judge()
    return result


def _warm_up(tenants: Tenants, entries: Sequence[TopLevel]) -> None:
    """Run all code on one object, and delete it: what its first run allocates is not kept because of the others."""
    for entry in entries:
        tenants.cluster.apply(entry)
    tenants.cycle()
    for entry in reversed(entries):
        tenants.cluster.remove(entry)
    tenants.cycle()
    tenants.clean_up()


def _attack(tenants: Tenants, entries: Sequence[TopLevel], result: Tenancy) -> None:
    timings: list[float] = []
    is_bound = False
    for number in range(_CYCLES):
        seconds, started = tenants.cycle()
        timings.append(seconds)
        if not is_bound:
            result.probe_seconds += seconds
            is_bound = f"bench/{_PROBE}" in started
        if result.family.endswith("churn"):
            _churn(tenants.cluster, entries, number, deletes=result.family.startswith("group"))
    if not is_bound:
        result.probe_seconds = float("inf")
    result.memory_during = _resident()
    result.first_cycle_seconds, result.cycle_seconds = timings[0], median(timings[1:])


def _churn(cluster: Cluster, entries: Sequence[TopLevel], number: int, *, deletes: bool) -> None:
    """Delete and create all objects, or change their labels."""
    for entry in entries:
        if deletes:
            cluster.remove(entry)
            cluster.apply(entry)
        else:
            metadata = msgspec.structs.replace(entry.metadata, labels={"round": str(number)})
            cluster.apply(msgspec.structs.replace(entry, metadata=metadata))


def _resident() -> int:
    """Resident memory in bytes, after unused memory was given back to the system."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def hostile(parameters: Parameters, runs: int) -> list[Result]:
    """Run every family, each in a process of its own."""
    results = []
    for found in measured(parameters["nodes"], parameters["pods"]):
        facts = {name: getattr(found, name) for name in Tenancy.__dataclass_fields__}
        facts |= {"cycle_ratio": found.cycle_ratio, "memory_ratio": found.memory_ratio}
        results.append(Result("hostile", parameters, found.cycle_seconds, 4, 0.0, {}, more=facts))
    return results


def measured(nodes: int, pods: int, share: float = 1.0, families: Iterable[str] = FAMILIES) -> Iterator[Tenancy]:
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for family in families:
            yield pool.apply(measure, (family, nodes, pods, share))
