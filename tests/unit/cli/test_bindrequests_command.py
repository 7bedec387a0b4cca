"""`stromboli bindrequests` against an API server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from stromboli.cli import main
from stromboli.cli.text.bindrequests import BindRequestPrinter, Chosen
from stromboli.kube.client.client import Client
from stromboli.kube.crds.install import install_crds
from stromboli.kube.objects.bind_requests import (
    BindRequest,
    BindRequestSpec,
    BindRequestStatus,
    BoundPod,
    MemberStatus,
)
from stromboli.kube.objects.catalogue import BIND_REQUESTS
from stromboli.kube.objects.meta import ObjectMeta
from stromboli.local.api_server.server import ApiServer
from tests.unit.cli.all_commands.output_formats import FORMATS, assert_formats_agree


def request(name: str, *places: str, phase: str = "", reason: str = "", bound: int = 0, **spec: object) -> BindRequest:
    """Return a request of the group `ring`, with one pod per node."""
    pods = [BoundPod(pod_name=f"{name}-{n}", pod_uid=f"u-{name}-{n}", selected_node=p) for n, p in enumerate(places)]
    members = [MemberStatus(each.pod_uid, "Bound" if n < bound else "Failed", reason) for n, each in enumerate(pods)]
    facts = {"scheduler": "stromboli", "pod_group": "ring", "size": len(pods), "pods": pods, **spec}
    return BindRequest(
        metadata=ObjectMeta(name=name, namespace="default", labels={"color": name}),
        spec=BindRequestSpec(**facts),  # type: ignore[arg-type]
        status=BindRequestStatus(
            phase=phase, reason=reason, failed_attempts=int(bool(reason)), pods=members if phase else []
        ),
    )


NAME = "bindrequest.scheduling.stromboli.dev"
REQUESTS = [
    request("first", "a", "b"),
    request("second", "b", "b", phase="Binding", reason="node b is \x1b[31mnot ready", bound=1),
    request("third", "c", phase="Failed", reason="the disk is on fire", pod_group="other", parts=2),
]


@pytest.fixture
async def kubeconfig(tmp_path: Path) -> AsyncIterator[Path]:
    async with ApiServer() as server, Client(server.connection) as client:
        await install_crds(client)
        for each in REQUESTS:
            await client.create(BIND_REQUESTS, BindRequest(metadata=each.metadata, spec=each.spec))
            if each.status.phase:
                status = {"status": json.loads(_encoded(each))["status"]}
                await client.patch(BIND_REQUESTS, each.metadata.name, status, namespace="default", subresource="status")
        path = tmp_path / "kubeconfig"
        server.write_kubeconfig(path)
        yield path


def _encoded(each: BindRequest) -> bytes:
    return msgspec.json.encode(each)


async def run(kubeconfig: Path, *arguments: str) -> Result:
    command = ["bindrequests", "--kubeconfig", str(kubeconfig), *arguments]
    return await asyncio.to_thread(CliRunner().invoke, main, command)


TABLES = {
    "all": ((), ["first ring 0/2 Pending 0", "second ring 1/2 Binding 1", "third other (part 1 of 2) 0/1 Failed 1"]),
    "by name": (("first",), ["first ring 0/2 Pending 0"]),
    "by node": (("--node", "b"), ["first ring 0/2 Pending 0", "second ring 1/2 Binding 1"]),
    "by group": (("--pod-group", "other"), ["third other (part 1 of 2) 0/1 Failed 1"]),
    "by label": (("-l", "color=second"), ["second ring 1/2 Binding 1"]),
    "by phase": (("--phase", "Pending", "--phase", "Failed"), ["first ring", "third other"]),
    "of a namespace": (("-n", "nowhere"), []),
    "pods": (("--pods", "second"), ["second second-0 b Bound", "second second-1 b Failed"]),
    "pods of a node": (("--pods", "--node", "a"), ["first first-0 a Pending"]),
}


async def test_tables(kubeconfig: Path) -> None:
    for name, (arguments, expected) in TABLES.items():
        result = await run(kubeconfig, *arguments)
        lines = [" ".join(line.split()) for line in result.stdout.splitlines()[1:]]
        assert result.exit_code == 0, name
        assert len(lines) == len(expected), name
        for line, words in zip(lines, expected, strict=True):
            assert line.startswith(f"default {words}"), name
        assert "\x1b" not in result.stdout
    assert "node b is [31mnot ready" in (await run(kubeconfig, "second")).stdout
    assert "No bind requests." in (await run(kubeconfig, "-n", "nowhere")).stderr


async def test_unknown_name_is_an_error(kubeconfig: Path) -> None:
    result = await run(kubeconfig, "second", "tenth", "ninth")
    assert result.exit_code == 1
    assert "second" in result.stdout
    assert "no bind request ninth, tenth in any namespace" in result.stderr
    elsewhere = await run(kubeconfig, "-n", "nowhere", "second")
    assert (elsewhere.exit_code, elsewhere.stdout) == (1, "")
    assert "no bind request second in namespace nowhere" in elsewhere.stderr


async def test_objects(kubeconfig: Path) -> None:
    assert_formats_agree({output: await run(kubeconfig, "-o", output) for output in FORMATS})
    assert (await run(kubeconfig, "-o", "name", "third")).stdout == f"{NAME}/default/third\n"
    assert (await run(kubeconfig, "-o", "name", "-n", "default", "third")).stdout == f"{NAME}/third\n"
    result = await run(kubeconfig, "-o", "json", "--phase", "Failed")
    (item,) = json.loads(result.stdout)["items"]
    assert (item["kind"], item["apiVersion"]) == ("BindRequest", "scheduling.stromboli.dev/v1alpha1")
    assert (item["metadata"]["name"], item["status"]["reason"]) == ("third", "the disk is on fire")


async def test_cluster_without_crd_suggests_installation(tmp_path: Path) -> None:
    async with ApiServer() as server:
        server.write_kubeconfig(tmp_path / "kubeconfig")
        for arguments in ((), ("--watch",)):
            result = await run(tmp_path / "kubeconfig", *arguments)
            assert result.exit_code == 1
            assert "stromboli manifests --only crds | kubectl apply" in result.stderr


def test_changes_are_aligned_with_their_header(capsys: pytest.CaptureFixture[str]) -> None:
    changes = BindRequestPrinter(Chosen(pod_group="ring"), "table")
    for each in REQUESTS:
        changes.apply(each)
    changes.remove(REQUESTS[0])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines] == ["NAME", "first", "second", "first"]
    assert [line.split()[4] for line in lines[1:]] == ["Pending", "Binding", "Deleted"]
    assert lines[0].index("POD GROUP") == lines[1].index("ring")


def test_changes_as_lines_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    changes = BindRequestPrinter(Chosen(), "json")
    changes.apply(REQUESTS[1])
    changes.remove(REQUESTS[1])
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["type"] for each in printed] == ["CHANGED", "DELETED"]
    assert printed[0]["object"]["spec"]["podGroup"] == "ring"


WATCHED = {
    "yaml": "---\ntype: CHANGED\nobject:\n",
    "name": f"{NAME}/default/second\n",
    "wide": "NAMESPACE  NAME    POD GROUP  BOUND  PHASE      ATTEMPTS  AGE",
}


@pytest.mark.parametrize("output", WATCHED)
def test_changes_in_other_formats(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    BindRequestPrinter(Chosen(), output).apply(REQUESTS[1])
    assert capsys.readouterr().out.startswith(WATCHED[output])
