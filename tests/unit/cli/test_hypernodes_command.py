"""`stromboli hypernodes discover`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from stromboli.cli import main
from stromboli.controllers.discovery_keys import DEFAULT_KEYS
from tests.testing.manifests.builders import node
from tests.testing.manifests.hypernodes import racks

ZONE, RACK = "topology.kubernetes.io/zone", "stromboli.dev/rack"
NODES = [
    node("a", labels={ZONE: "eu-1", RACK: "r0"}), node("b", labels={ZONE: "eu-1", RACK: "r1"}),
    node("c", labels={ZONE: "eu-2", "example.com/rack": "x"}),
]  # fmt: skip


def discover(manifests: list[Any], *arguments: str) -> Result:
    return CliRunner().invoke(main, ["hypernodes", "discover", "-f", "-", *arguments], input=json.dumps(manifests))


def test_proposed_hypernodes_are_read_by_topology(tmp_path: Path) -> None:
    result = discover(NODES)
    assert result.exit_code == 0
    assert (
        result.stderr == "warning: no node has the label stromboli.dev/block, so there are no domains of tier block\n"
    )
    (tmp_path / "network.yaml").write_text(result.stdout)
    (tmp_path / "nodes.json").write_text(json.dumps(NODES))
    shown = CliRunner().invoke(main, ["topology", "-f", str(tmp_path), "-o", "json"])
    report = json.loads(shown.stdout)
    assert report["warnings"] == []
    assert {domain["name"]: domain["nodes"] for domain in report["domains"][1:]} == {
        "zone.eu-1": 2, "rack.eu-1.none.r0": 1, "rack.eu-1.none.r1": 1, "zone.eu-2": 1,
    }  # fmt: skip


def test_yaml_and_json_are_equal() -> None:
    documents = list(yaml.safe_load_all(discover(NODES).stdout))
    assert json.loads(discover(NODES, "-o", "json").stdout) == {"apiVersion": "v1", "kind": "List", "items": documents}
    assert [document["spec"]["tier"] for document in documents] == [3, 3, 1, 1]


def test_other_keys() -> None:
    documents = list(yaml.safe_load_all(discover(NODES, "--keys", "zone,example.com/rack").stdout))
    assert [document["metadata"]["name"] for document in documents] == ["zone.eu-1", "zone.eu-2", "rack.eu-2.x"]


def test_manually_created_hypernodes_stay() -> None:
    by_hand = [{**each, "metadata": {"name": "zone.eu-1"}} for each in racks("a")]
    result = discover([*NODES, *by_hand], "--keys", "zone")
    assert [document["metadata"]["name"] for document in yaml.safe_load_all(result.stdout)] == ["zone.eu-2"]
    assert result.stderr == (
        "warning: manually created HyperNodes stay unchanged: zone.eu-1\n"
        "warning: HyperNode zone.eu-1 was created manually; it is used for the domain of that name\n"
    )


@pytest.mark.parametrize(
    ("manifests", "arguments", "code", "problem"),
    [
        pytest.param([node("a")], [], 1, "none of 1 nodes has any of the labels topology.kubernetes.io/zone, ",
                     id="no labels"),
        pytest.param([], [], 1, "contains no Kubernetes objects", id="no nodes"),
        pytest.param(NODES, ["--keys", "zone,,rack"], 2, "'' is no label", id="a key that is none"),
        pytest.param(NODES, ["--apply"], 2, "--apply reads the nodes of the cluster itself", id="files and a cluster"),
    ],
)  # fmt: skip
def test_invalid_input_is_rejected(manifests: list[Any], arguments: list[str], code: int, problem: str) -> None:
    result = discover(manifests, *arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert problem in " ".join(result.stderr.split())


def test_default_keys_are_in_the_help() -> None:
    shown = CliRunner().invoke(main, ["hypernodes", "discover", "--help"]).stdout
    assert f"[default: {DEFAULT_KEYS}]" in " ".join(shown.split())
