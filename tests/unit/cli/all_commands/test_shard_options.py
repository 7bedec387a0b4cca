"""Shard options, and dumps of schedulers with a shard."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stromboli.cli import main
from stromboli.cluster.dump.contents import contents_of
from stromboli.cluster.dump.dump import Dump, write_dump
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.config.configuration import DEFAULT_TEXT
from stromboli.core.model.nodes.shards import ShardChoice, ShardMode
from stromboli.core.model.tasks.selectors import LabelSelector, Requirement
from stromboli.kube.objects.kinds import decode
from tests.testing.cases.sharding import node_shard
from tests.testing.manifests.builders import gang, nodes, queue, running
from tests.testing.manifests.hypernodes import network
from tests.unit.cli.conftest import Run

WEST = ("--scheduler-sharding-mode", "hard", "--scheduler-sharding-name", "west")
BUSY = [*network(2, "ab", "cd"), node_shard("west", "bcd"), *running("c", name="train")]


def domains(result: Any) -> dict[str, tuple[int, int, str]]:
    found = json.loads(result.stdout)["domains"]
    return {each["name"]: (each["shardNodes"], each["freeNodes"], each["free"].get("cpu", "0")) for each in found[1:]}


def test_free_capacity_of_hard_shard_is_that_of_its_nodes(run: Run) -> None:
    assert domains(run("topology", BUSY, *WEST, "-o", "json")) == {"rack-0": (1, 1, "2"), "rack-1": (2, 1, "3")}


def test_free_capacity_of_soft_shard_includes_other_nodes(run: Run) -> None:
    soft = ("--scheduler-sharding-mode", "soft", "--shard-selector", "!nothing")
    assert domains(run("topology", BUSY, *soft, "-o", "json")) == {"rack-0": (2, 2, "4"), "rack-1": (2, 1, "3")}


def test_output_without_shard_has_no_shard_column(run: Run) -> None:
    assert "shardNodes" not in run("topology", BUSY, "-o", "json").stdout
    assert "SHARD NODES" in run("topology", BUSY, *WEST).stdout


@pytest.mark.parametrize(("mode", "started"), [("none", 2), ("hard", 1), ("soft", 2)])
def test_simulation_respects_the_shard(run: Run, mode: str, started: int) -> None:
    jobs = [*gang(1, cpu=4, name="one"), *gang(1, cpu=4, name="two")]
    options = ("--scheduler-sharding-mode", mode, "--scheduler-sharding-name", "west", "--until", "1h", "-o", "json")
    report = json.loads(run("simulate", [*nodes(4, 2), node_shard("west", "b"), *jobs], *options).stdout)
    assert sum(job["started"] is not None for job in report["jobs"].values()) == started


def a_dump(place: Path, granted: str) -> str:
    """Write a dump of a scheduler that desires two nodes and owns the granted ones."""
    selector = LabelSelector((Requirement("zone", "DoesNotExist"),))
    cluster = Cluster(shard=ShardChoice(ShardMode.HARD, "west", selector))
    for document in (*nodes(4, 3), queue("default"), node_shard("west", "ab"), *gang(2, cpu=4)):
        cluster.apply(decode(document))  # type: ignore[arg-type]
    cluster.shards.grant(granted)
    write_dump(place / "dump.json.gz", Dump(contents_of(cluster), 0.0, DEFAULT_TEXT))
    return str(place / "dump.json.gz")


@pytest.mark.parametrize(("granted", "used"), [("ab", {"a", "b"}), ("bc", {"b", "c"}), ("a", set())])
def test_dump_contains_the_nodes_of_its_shard(tmp_path: Path, granted: str, used: set[str]) -> None:
    result = CliRunner().invoke(main, ["plan", "-f", a_dump(tmp_path, granted), "-o", "json"])
    assert set(json.loads(result.stdout)["binds"].values()) == used


@pytest.mark.parametrize("command", ["plan", "topology"])
def test_shard_options_with_a_dump_are_rejected(tmp_path: Path, command: str) -> None:
    result = CliRunner().invoke(main, [command, "-f", a_dump(tmp_path, "ab"), *WEST])
    assert (result.exit_code, "has no effect on a dump, which contains its own value" in result.stderr) == (2, True)
