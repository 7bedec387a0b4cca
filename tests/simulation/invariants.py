"""What must hold after every write, and when everything has settled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from stromboli.cluster.audit.auditor import audit
from stromboli.local.api_server.api import ResourceRequest
from stromboli.local.api_server.store import Object
from tests.simulation.network import Message
from tests.simulation.processes import Installation
from tests.simulation.schedule import CPUS, LIMIT, TENANTS
from tests.simulation.world import SimulatedCluster, gang_of
from tests.testing.invariants import unfinished


class Invariants:
    """Checks writes as they happen. `decisions` are the placements that a scheduler decided, by uid of the pod."""

    def __init__(self, cluster: SimulatedCluster, installation: Installation) -> None:
        self._cluster = cluster
        self._installation = installation
        self.decisions: dict[str, set[str]] = {}
        self.binds: Counter[str] = Counter()
        self.violations: list[str] = []

    def written(self, message: Message, request: ResourceRequest) -> None:
        call = request.call
        self.violations += self._several_leaders()
        if call.subresource == "binding":
            self._bound(call.namespace, call.name)
        elif call.plural in ("podgroups", "pods") and message.user in TENANTS:
            self.violations += self._foreign_queues()

    def _bound(self, namespace: str, name: str) -> None:
        found = self._cluster.plane.store.collection("", "pods").get((namespace, name))
        assert found is not None
        uid, node = found.metadata["uid"], found.body["spec"]["nodeName"]
        self.binds[uid] += 1
        if self.binds[uid] > 1:
            self.violations.append(f"pod {name} was bound {self.binds[uid]} times")
        if node not in self.decisions.get(uid, ()):
            self.violations.append(f"pod {name} was bound to {node} without a decision")
        self.violations += [*self._over_committed(), *self._over_limit()]

    def _over_committed(self) -> Iterator[str]:
        used: Counter[str] = Counter()
        for pod in self._placed():
            used[pod["spec"]["nodeName"]] += _cpu(pod)
        yield from (f"node {node} has {CPUS} CPUs and gave away {cpu}" for node, cpu in used.items() if cpu > CPUS)

    def _over_limit(self) -> Iterator[str]:
        """Terminating pods count on their nodes, but not against the limits of their queues, as in Volcano."""
        for queue, cpu in self._used(each for each in self._placed() if not _is_terminating(each)).items():
            if cpu > LIMIT:
                yield f"queue {queue} has the limit {LIMIT} and uses {cpu}"

    def _used(self, pods: Iterable[Object]) -> Counter[str]:
        """CPUs that pods use, by queue."""
        queues = {_key(group, group["metadata"]["name"]): group["spec"]["queue"] for group in self._cluster.groups()}
        used: Counter[str] = Counter()
        for pod in pods:
            queue = queues.get(_key(pod, gang_of(pod)), "")
            used[queue] += _cpu(pod) if queue in TENANTS.values() else 0
        return used

    def _placed(self) -> list[Object]:
        """Pods that use their node."""
        bound = [pod for pod in self._cluster.pods() if pod["spec"].get("nodeName")]
        return [pod for pod in bound if (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")]

    def _foreign_queues(self) -> Iterator[str]:
        for group in self._cluster.groups():
            tenant, queue = group["metadata"]["namespace"], group["spec"]["queue"]
            if TENANTS[tenant] != queue:
                yield f"tenant {tenant} has a group in the queue {queue}"

    # -- at the end -----------------------------------------------------------------------------------------------

    def unsettled(self) -> list[str]:
        """Everything that must not be when all processes run and nothing has failed for some time."""
        return [
            *self._missing_leaders(), *self._waiting(), *self._orphans(), *self._wrong_statuses(),
            *self._unfinished(),
        ]  # fmt: skip

    def _several_leaders(self) -> Iterator[str]:
        electors = self._installation.electors
        leaders = Counter(name.partition("-")[0] for name, each in electors.items() if each.is_leading)
        yield from (f"{count} processes lead: {kind}" for kind, count in leaders.items() if count > 1)

    def _missing_leaders(self) -> Iterator[str]:
        electors = self._installation.electors
        for kind in sorted({name.partition("-")[0] for name in electors}):
            leaders = [name for name, each in electors.items() if name.startswith(kind) and each.is_leading]
            if len(leaders) != 1 and not self._installation.usurpers:
                yield f"{len(leaders)} processes lead: {kind}"

    def _gangs(self) -> Iterator[tuple[Object, list[Object], int]]:
        """Every group, with its pods and how many of them have a node."""
        pods = self._cluster.pods()
        for group in self._cluster.groups():
            key = _key(group, group["metadata"]["name"])
            members = [pod for pod in pods if _key(pod, gang_of(pod)) == key]
            yield group, members, sum(bool(pod["spec"].get("nodeName")) for pod in members)

    def _waiting(self) -> Iterator[str]:
        """Gangs that are torn, and gangs that wait although they fit.

        A gang that lost a member, and not by us, may stay torn while its members do not fit.
        """
        free, used = self._free(), self._used(self._placed())
        for name, (size, cpu, tenant, queue, _) in self._cluster.gangs.items():
            members = [pod for pod in self._cluster.pods() if gang_of(pod) == name]
            placed = sum(bool(pod["spec"].get("nodeName")) for pod in members)
            missing = size - placed
            fits = sum(each // cpu for each in free.values()) >= missing and used[queue] + missing * cpu <= LIMIT
            if len(members) < size:
                yield f"{name} of {tenant} has {len(members)} of {size} pods"
            elif missing and (fits or (placed and name not in self._cluster.disturbed)):
                yield f"{placed} of {size} members of {name} have a node" + (" and the others fit" if fits else "")

    def _free(self) -> Counter[str]:
        """CPUs that are free, by node."""
        free = Counter(dict.fromkeys(self._cluster.nodes, CPUS))
        for pod in self._placed():
            free[pod["spec"]["nodeName"]] -= _cpu(pod)
        return free

    def _orphans(self) -> Iterator[str]:
        yield from (f"bind request {each['metadata']['name']} is left" for each in self._cluster.requests())
        unbound = {pod["metadata"]["uid"] for pod in self._cluster.pods() if not pod["spec"].get("nodeName")}
        yield from (f"pod {uid} has a ticket and no node" for uid in self._cluster.tickets() if uid in unbound)

    def _wrong_statuses(self) -> Iterator[str]:
        for group, members, placed in self._gangs():
            running = sum((pod.get("status") or {}).get("phase") == "Running" for pod in members)
            phase = (group.get("status") or {}).get("phase")
            if group["metadata"]["name"] not in self._cluster.gangs:
                continue
            if (phase == "Running") != (running >= group["spec"]["minMember"]):
                yield f"group {group['metadata']['name']} is {phase} with {running} running of {placed} bound pods"

    def _unfinished(self) -> Iterator[str]:
        for name, scheduler in self._installation.schedulers.items():
            if self._installation.electors[name].is_leading:
                yield from (f"{name}: {each}" for each in unfinished(scheduler))
        for name, binder in self._installation.binders.items():
            if self._installation.electors[name].is_leading and binder.assumed:
                yield f"{name} assumes {len(binder.assumed)} placements"

    def inconsistent(self) -> list[str]:
        """Differences of the accounting from the objects that it counts."""
        return [str(each) for scheduler in self._installation.schedulers.values() for each in audit(scheduler.cluster)]


def _key(entry: Object, name: str) -> str:
    return f"{entry['metadata']['namespace']}/{name}"


def _is_terminating(pod: Object) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def _cpu(pod: Object) -> int:
    return sum(int(each["resources"]["requests"]["cpu"]) for each in pod["spec"]["containers"])
