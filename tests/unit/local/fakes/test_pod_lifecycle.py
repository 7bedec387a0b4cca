"""Lifecycle of a pod on a simulated node, as a table."""

from typing import Any, NamedTuple

import msgspec
import pytest

from stromboli.kube.objects.cluster import KubeNode
from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.timestamps import seconds_of, stamp
from stromboli.local.api_server.quantities import UNIT, amount_of
from stromboli.local.fakes.kubelet.admission import Admission, pod_requests
from stromboli.local.fakes.kubelet.commands import CommandPod
from stromboli.local.fakes.kubelet.pod_lifecycle import next_step

NOW = 1_800_000_000.0


def pod(annotations: dict[str, str] | None = None, phase: str = "Pending", **parts: Any) -> Pod:
    metadata = {"name": "a", "namespace": "ns", "uid": "u", "annotations": annotations, **parts.pop("metadata", {})}
    spec = {"nodeName": "n", "containers": [{"name": "main", "image": "x"}], **parts.pop("spec", {})}
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": {"phase": phase, **parts}}, Pod)


class Case(NamedTuple):
    title: str
    pod: Pod
    after: float | None
    becomes: str


START, RUN = {"stromboli.dev/start-seconds": "2"}, {"stromboli.dev/run-seconds": "10"}
DYING = {"deletionTimestamp": stamp(NOW + 30), "deletionGracePeriodSeconds": 30}

CASES = [
    Case("starts at once", pod(), 0, "Running"),
    Case("starts after its start time", pod(START), 2, "Running"),
    Case("nonsense is ignored", pod({"stromboli.dev/start-seconds": "soon"}), 0, "Running"),
    Case("negative times are ignored", pod({"stromboli.dev/start-seconds": "-5"}), 0, "Running"),
    Case("runs forever", pod(phase="Running"), None, ""),
    Case("ends well", pod(RUN, "Running"), 10, "Succeeded"),
    Case("ends badly", pod(RUN | {"stromboli.dev/exit-code": "3"}, "Running"), 10, "Failed"),
    Case("has a deadline", pod(phase="Running", spec={"activeDeadlineSeconds": 4}), 4, "Failed"),
    Case("is faster than its deadline", pod(RUN, "Running", spec={"activeDeadlineSeconds": 60}), 10, "Succeeded"),
    Case("is done", pod(RUN, "Succeeded"), None, ""),
    Case("stops at once", pod(phase="Running", metadata=DYING), 0, "gone"),
    Case("stops slowly", pod({"stromboli.dev/stop-seconds": "5"}, "Running", metadata=DYING), 5, "gone"),
    Case("never beyond its grace", pod({"stromboli.dev/stop-seconds": "90"}, "Running", metadata=DYING), 30, "gone"),
    Case("stops before it starts", pod(START, metadata=DYING), 0, "gone"),
    Case("is removed after its end", pod(phase="Failed", metadata=DYING), 0, "gone"),
]


@pytest.mark.parametrize("case", CASES, ids=[case.title for case in CASES])
def test_next_step(case: Case) -> None:
    step = next_step(case.pod, bound_at=NOW, started_at=NOW, now=NOW, address="10.0.0.1", host="10.9.9.9")
    if case.after is None:
        assert step is None
        return
    assert step is not None
    assert step.at == NOW + case.after
    assert ("gone" if step.is_end else (step.status or {})["phase"]) == case.becomes


class CommandCase(NamedTuple):
    title: str
    command: list[str]
    restart_policy: str
    restarts: int
    after: float | None
    becomes: str


SCRIPT = ["sh", "-c", "sleep 3 && exit 1"]
COMMANDS = [
    CommandCase("sleep ends well", ["sleep", "3"], "Never", 0, 3, "Succeeded"),
    CommandCase("shell ends with its exit code", SCRIPT, "Never", 0, 3, "Failed"),
    CommandCase("exit ends at once", ["/bin/sh", "-c", "exit 0"], "Never", 0, 0, "Succeeded"),
    CommandCase("failure is restarted", SCRIPT, "OnFailure", 0, 3, "Running"),
    CommandCase("second restart is delayed", SCRIPT, "OnFailure", 1, 13, "Running"),
    CommandCase("delay has a maximum", SCRIPT, "OnFailure", 50, 303, "Running"),
    CommandCase("success is not restarted", ["sleep", "3"], "OnFailure", 0, 3, "Succeeded"),
    CommandCase("success is restarted always", ["sleep", "3"], "Always", 0, 3, "Running"),
    CommandCase("other commands run forever", ["python", "train.py"], "Never", 0, None, ""),
    CommandCase("no command runs forever", [], "Never", 0, None, ""),
]


@pytest.mark.parametrize("case", COMMANDS, ids=[case.title for case in COMMANDS])
@pytest.mark.parametrize("second", [1.0, 0.125])
def test_next_step_of_commands(case: CommandCase, second: float) -> None:
    spec = {"restartPolicy": case.restart_policy, "containers": [{"name": "main", "args": case.command}]}
    statuses = [{"name": "main", "restartCount": case.restarts}]
    running = msgspec.convert({"spec": spec, "status": {"phase": "Running", "containerStatuses": statuses}}, CommandPod)
    step = next_step(running, bound_at=NOW, started_at=NOW, now=NOW, address="", host="", second=second)
    if case.after is None:
        assert step is None
        return
    assert step is not None
    assert step.status is not None
    assert step.at == NOW + case.after * second
    assert step.status["phase"] == case.becomes
    restarted = case.restarts + 1 if case.becomes == "Running" else case.restarts
    assert step.status["containerStatuses"][0]["restartCount"] == restarted


def test_pod_with_commands_lasts_as_long_as_its_longest_container() -> None:
    commands = [{"name": "a", "command": ["sleep", "5"]}, {"name": "b", "command": ["sh", "-c", "sleep 2; exit 4"]}]
    spec = {"restartPolicy": "Never", "containers": commands}
    running = msgspec.convert({"spec": spec, "status": {"phase": "Running"}}, CommandPod)
    step = next_step(running, bound_at=NOW, started_at=NOW, now=NOW, address="", host="")
    assert step is not None
    assert step.status is not None
    assert (step.at, step.status["phase"]) == (NOW + 5, "Failed")
    assert step.status["containerStatuses"][1]["state"]["terminated"]["exitCode"] == 4


def test_start_time_survives_restart() -> None:
    running = pod(RUN, "Running", startTime=stamp(NOW - 4))
    step = next_step(running, bound_at=NOW, started_at=None, now=NOW, address="", host="")
    assert step is not None
    assert step.at == NOW + 6


def test_host_network_pod_has_host_address() -> None:
    step = next_step(pod(spec={"hostNetwork": True}), bound_at=0, started_at=0, now=NOW, address="a", host="h")
    assert step is not None
    assert step.status is not None
    assert step.status["podIP"] == "h"


def test_init_container_has_termination_message() -> None:
    spec = {"containers": [{"name": "main"}], "initContainers": [{"name": "first"}]}
    expected = pod({"stromboli.dev/termination-message": "done"}, spec=spec)
    step = next_step(expected, bound_at=0, started_at=0, now=NOW, address="a", host="h")
    assert step is not None
    assert step.status is not None
    [first] = step.status["initContainerStatuses"]
    assert first["state"]["terminated"]["message"] == "done"


def test_timestamps() -> None:
    assert seconds_of(stamp(NOW)) == NOW
    assert seconds_of("2027-01-15T08:00:00.5+00:00") == NOW + 0.5
    assert seconds_of("yesterday") is seconds_of(None) is None


AMOUNTS = [("500m", 0.5), ("2", 2), (3, 3), (0.25, 0.25), ("1Ki", 1024), ("2Gi", 2**31), ("1e3", 1000), ("1.5k", 1500)]


@pytest.mark.parametrize(("text", "value"), AMOUNTS, ids=[str(case[0]) for case in AMOUNTS])
def test_amounts(text: str | float, value: float) -> None:
    assert amount_of(text) == value * UNIT


@pytest.mark.parametrize("text", ["", "x", "-1", "1e999999999", "1Zi", "9" * 100])
def test_invalid_amount(text: str) -> None:
    with pytest.raises(ValueError, match="not a quantity"):
        amount_of(text)


def containers(*cpus: str) -> list[dict[str, Any]]:
    return [{"name": f"c{place}", "resources": {"requests": {"cpu": cpu}}} for place, cpu in enumerate(cpus)]


SIDECAR = {"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}
REQUESTS = [
    ("containers together", {"containers": containers("1", "500m")}, 1.5),
    ("a greedy start", {"containers": containers("1"), "initContainers": containers("4")}, 4),
    ("a sidecar beside", {"containers": containers("1"), "initContainers": [SIDECAR]}, 2),
    ("a sidecar beside a greedy start",
     {"containers": containers("1"), "initContainers": [SIDECAR, *containers("4")]}, 5),
    ("a limit is a request", {"containers": [{"name": "c", "resources": {"limits": {"cpu": "3"}}}]}, 3),
    ("the whole pod", {"containers": containers("1"), "resources": {"requests": {"cpu": "2"}}}, 2),
    ("with overhead", {"containers": containers("1"), "overhead": {"cpu": "250m"}}, 1.25),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "cpu"), [case[1:] for case in REQUESTS], ids=[case[0] for case in REQUESTS])
def test_requests(spec: dict[str, Any], cpu: float) -> None:
    assert pod_requests(pod(spec=spec))["cpu"] == cpu * UNIT


def test_node_admits_what_fits() -> None:
    node = msgspec.convert({"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "2", "pods": "3"}}}, KubeNode)
    admission = Admission()
    for number in range(2):
        assert admission.admit(node, pod(metadata={"uid": f"u{number}"}, spec={"containers": containers("1")})) is None
    reason, message = admission.admit(node, pod(spec={"containers": containers("500m")})) or ("", "")
    assert reason == "OutOfcpu"
    assert message == "Node didn't have enough resource: cpu, requested: 500, used: 2000, capacity: 2000"
    admission.release("n", "u0")
    assert admission.admit(node, pod(metadata={"uid": "u2"}, spec={"containers": containers("500m")})) is None
    assert admission.admit(node, pod(metadata={"uid": "u3"})) is None
    refusal = admission.admit(node, pod(metadata={"uid": "u4"}))
    assert refusal is not None
    assert refusal[0] == "OutOfpods"
    assert admission.admit(node, pod(spec={"containers": containers("many")})) is not None
