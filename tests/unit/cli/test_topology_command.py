"""`stromboli topology`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.testing.manifests.builders import foreign, gang, node, nodes, running
from tests.testing.manifests.hypernodes import TREE, block, hyper_node, labelled, named, racks
from tests.testing.manifests.topology_levels import in_racks
from tests.testing.manifests.topology_levels import topology as level_topology
from tests.unit.cli.conftest import Run
from tests.unit.cli.test_replay_command import a_dump

BUSY = [*TREE, *running("aab", name="train"), *running("a", 0, name="idle"), foreign("e"), *gang(4, name="waits")]

SHOWN = """\
DOMAIN      TIER  NODES  FREE NODES  FREE                  JOBS
cluster     -         8           5  cpu 12, memory 512Gi  default/train ×3, default/idle ×1
  block-0   2         4           2  cpu 5, memory 256Gi   default/train ×3, default/idle ×1
    rack-0  1         2           0  cpu 1, memory 128Gi   default/train ×3, default/idle ×1
    rack-1  1         2           2  cpu 4, memory 128Gi   -
  block-1   2         4           3  cpu 7, memory 256Gi   -
    rack-2  1         2           1  cpu 3, memory 128Gi   -
    rack-3  1         2           2  cpu 4, memory 128Gi   -

6 domains of 8 nodes.
"""


def test_domains_as_text(run: Run) -> None:
    result = run("topology", BUSY)
    assert (result.exit_code, result.stdout, result.stderr) == (0, SHOWN, "")


def test_wide_text_has_usage_and_nodes(run: Run) -> None:
    header, *lines = run("topology", BUSY, "-o", "wide").stdout.splitlines()
    assert header.endswith("  OWN NODES")
    assert "CPU USED  MEMORY USED" in header
    assert " ".join(lines[2].split()).startswith("rack-0 1 2 0 3/4 0/128Gi cpu 1, memory 128Gi default/train ×3")
    assert lines[2].endswith("  a, b")


def test_names_are_those_of_hypernodes(run: Run) -> None:
    assert run("topology", BUSY, "-o", "name").stdout.splitlines()[:2] == [
        "hypernode.topology.volcano.sh/block-0", "hypernode.topology.volcano.sh/rack-0",
    ]  # fmt: skip


def domains(run: Run, manifests: list[Any]) -> dict[str, dict[str, Any]]:
    result = run("topology", manifests, "-o", "json")
    assert result.exit_code == 0, result.stderr
    report = json.loads(result.stdout)
    assert set(report) == {"domains", "warnings"}
    return {domain["name"]: domain for domain in report["domains"]}


def test_domains_as_json(run: Run) -> None:
    found = domains(run, BUSY)
    assert list(found) == [
        "<cluster-top-hypernode>", "block-0", "rack-0", "rack-1", "block-1", "rack-2", "rack-3",
    ]  # fmt: skip
    assert found["rack-0"] == {
        "name": "rack-0", "tier": 1, "tierName": "", "parent": "block-0", "nodes": 2, "freeNodes": 0,
        "ownNodes": ["a", "b"], "capacity": {"cpu": "4", "memory": "128Gi"}, "used": {"cpu": "3", "pods": "4"},
        "free": {"cpu": "1", "memory": "128Gi"}, "jobs": {"default/train": 3, "default/idle": 1},
    }  # fmt: skip


BY_LABELS = """\
DOMAIN     TIER                   NODES  FREE NODES  FREE                 JOBS
cluster    -                          4           3  cpu 6, memory 256Gi  default/train ×1
  b0       2 (example.com/block)      3           2  cpu 4, memory 192Gi  default/train ×1
    b0/r0  1 (example.com/rack)       2           1  cpu 2, memory 128Gi  default/train ×1
    b0/r1  1 (example.com/rack)       1           1  cpu 2, memory 64Gi   -

3 domains of 4 nodes; 1 node is in none.
"""


def test_domains_of_a_topology_by_labels(run: Run) -> None:
    world = [*in_racks(2, "ab c"), node("z", 2), level_topology("net"), *running("a", 2, name="train")]
    result = run("topology", world, "--topology", "net")
    assert (result.exit_code, result.stdout, result.stderr) == (0, BY_LABELS, "")


def test_topology_with_unused_labels_has_no_domains(run: Run) -> None:
    result = run("topology", [*nodes(2, 2), level_topology("net")], "--topology", "net")
    assert result.exit_code == 0
    assert result.stdout.endswith("No node has all the labels of Topology net.\n")
    assert "Topology net: no node has all of its labels; nothing is placed by it" in result.stderr


def test_unknown_topology_is_an_error(run: Run) -> None:
    result = run("topology", [*in_racks(2, "ab"), level_topology("net")], "--topology", "other")
    assert result.exit_code == 1
    assert "there is no valid Topology 'other'; valid ones: net" in result.stderr


DAEMON = {"ownerReferences": [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "agent"}]}


def of_daemon_set(place: str) -> dict[str, Any]:
    pod = foreign(place, name=f"agent-{place}")
    return {**pod, "metadata": {**pod["metadata"], **DAEMON}}


@pytest.mark.parametrize(
    ("manifests", "free_nodes", "free"),
    [
        pytest.param([*nodes(4, 2)], 2, {"cpu": "8", "memory": "128Gi"}, id="nothing runs"),
        pytest.param(
            [*nodes(4, 2), of_daemon_set("a")], 2, {"cpu": "7", "memory": "128Gi"}, id="daemons run everywhere"
        ),
        pytest.param([*nodes(4, 2), foreign("a")], 1, {"cpu": "7", "memory": "128Gi"}, id="a pod of others"),
        pytest.param([*nodes(4, 1), node("b", cordoned=True)], 1, {"cpu": "4", "memory": "64Gi"}, id="a cordoned node"),
        pytest.param(
            [*nodes(4, 1), node("b", ready=False)], 1, {"cpu": "4", "memory": "64Gi"}, id="a node that is not ready"
        ),
        pytest.param([*nodes(1, 2), *running("aaa")], 1, {"cpu": "1", "memory": "128Gi"}, id="more than there is"),
        pytest.param([*nodes(4, 1), *running("a", releasing=True)], 0, {"cpu": "3", "memory": "64Gi"}, id="leaving"),
        pytest.param(
            [*nodes(4, 2), foreign("a", phase="Succeeded", name="done"), foreign("b", phase="Failed")],
            2,
            {"cpu": "8", "memory": "128Gi"},
            id="finished pods",
        ),
        pytest.param([*nodes(4, 1), *gang(2)], 1, {"cpu": "4", "memory": "64Gi"}, id="who waits is not placed"),
    ],
)
def test_free_nodes_and_capacity(run: Run, manifests: list[Any], free_nodes: int, free: dict[str, str]) -> None:
    manifests = [*manifests, *racks("ab")]
    found = domains(run, manifests)["rack-0"]
    assert (found["freeNodes"], found["free"]) == (free_nodes, free)


def test_tier_names_and_nodes_without_domain(run: Run) -> None:
    tree = [*nodes(1, 3), hyper_node("rack", 1, *named("a", "b"), tier_name="rack")]
    result = run("topology", tree)
    assert "  rack   1 (rack)  " in result.stdout
    assert result.stdout.endswith("\n1 domain of 3 nodes; 1 node is in none.\n")


def test_errors_in_hypernodes_are_warnings(run: Run) -> None:
    broken = [*nodes(1, 1), *racks("a"), block("block", 2, "rack-0", "gone"), hyper_node("empty", 1, labelled(x="y"))]
    result = run("topology", broken)
    assert result.exit_code == 0
    field = "spec.members[1].selector.exactMatch.name"
    subject = "warning: cluster/objects.json:1: HyperNode"
    assert f"{subject} block: {field}: there is no HyperNode 'gone' yet" in result.stderr
    assert "warning: cluster/objects.json:1: HyperNode empty: no node is in it" in result.stderr
    assert json.loads(run("topology", broken, "-o", "json").stdout)["warnings"] == [
        line.removeprefix("warning: ") for line in result.stderr.splitlines()
    ]


def test_cluster_without_hypernodes_or_nodes(run: Run) -> None:
    assert "There are no HyperNodes" in run("topology", nodes(1, 2)).stdout
    result = run("topology", racks("a"))
    assert (result.exit_code, "warning: the manifests contain no Node" in result.stderr) == (0, True)


def test_missing_file_is_an_error_message(run: Run) -> None:
    result = run("topology", [], file="nowhere")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("error: ")


def test_topology_accepts_a_dump(run: Run, tmp_path: Path) -> None:
    result = run("topology", [], "-o", "json", file=a_dump(tmp_path))
    (cluster,) = json.loads(result.stdout)["domains"]
    assert (result.exit_code, cluster["nodes"], cluster["free"]) == (0, 2, {"cpu": "8", "memory": "16Gi"})
