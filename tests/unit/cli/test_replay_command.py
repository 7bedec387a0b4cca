"""`stromboli replay`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from stromboli.cli import main
from stromboli.cluster.dump.contents import contents_of
from stromboli.cluster.dump.dump import Dump, write_dump
from stromboli.cluster.standard_queues import standard_queues
from stromboli.cluster.state.cluster import Cluster
from stromboli.core.config.configuration import DEFAULT_TEXT
from stromboli.core.session.session import Session
from stromboli.planner.replay import recorded_decisions
from tests.testing.random_clusters import objects
from tests.testing.random_clusters.engine import program_of

TWO_CPU = objects.template({"cpu": "2"})
#: Packs pods instead of spreading them.
TOGETHER = "actions: enqueue, allocate\ntiers:\n- plugins:\n  - name: gang\n  - name: predicates\n  - name: binpack\n"


def a_cluster() -> Cluster:
    cluster = Cluster()
    spread = [
        *standard_queues(),
        *(objects.node(name, {"cpu": "4", "memory": "8Gi"}) for name in "ab"),
        *objects.gang("early", 2, TWO_CPU, phase="Inqueue"),
        *objects.gang("large", 3, TWO_CPU, phase="Inqueue"),
    ]
    for entry in spread:
        cluster.apply(entry)
    return cluster


def a_dump(place: Path, configuration: str = DEFAULT_TEXT, *, decided: bool = True) -> str:
    cluster = a_cluster()
    contents = contents_of(cluster)
    session = Session(cluster.snapshot(5.0), program_of(configuration))
    session.run()
    decisions = recorded_decisions(session) if decided else None
    write_dump(place / "dump.json.gz", Dump(contents, 5.0, configuration, {}, decisions))
    return str(place / "dump.json.gz")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def test_replay_decides_the_same(tmp_path: Path) -> None:
    result = run("replay", a_dump(tmp_path))
    assert result.exit_code == 0
    assert "team/early" in result.stdout
    assert result.stdout.endswith("The decisions equal those of the dump.\n")


def test_replay_with_other_configuration_reports_differences(tmp_path: Path) -> None:
    (tmp_path / "other.conf").write_text(TOGETHER)
    result = run("replay", a_dump(tmp_path), "--conf", str(tmp_path / "other.conf"))
    assert result.exit_code == 4
    assert "Differences to the dump:\n  Pod team/" in result.stdout
    assert "recorded: is bound to" in result.stdout


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_replay_as_json_and_yaml(tmp_path: Path, output: str) -> None:
    result = run("replay", a_dump(tmp_path), "-o", output, "--explain")
    report = json.loads(result.stdout) if output == "json" else yaml.safe_load(result.stdout)
    assert result.exit_code == 0
    assert report["replay"] == {"compared": True, "differences": []}
    assert len(report["binds"]) == 2
    assert list(report["explanations"]) == ["team/large"]


def test_dump_without_decisions_is_not_compared(tmp_path: Path) -> None:
    result = run("replay", a_dump(tmp_path, decided=False), "--explain")
    assert result.exit_code == 0
    assert "team/large waits" in result.stdout
    assert result.stdout.endswith("The dump contains no decisions to compare.\n")


def test_invalid_dump_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "manifest.yaml").write_text("kind: Pod\n")
    result = run("replay", str(tmp_path / "manifest.yaml"))
    assert (result.exit_code, result.stdout) == (1, "")
    assert "error: " in result.stderr
    assert "is not a dump" in result.stderr


def test_invalid_configuration_of_dump_is_an_error_with_its_path(tmp_path: Path) -> None:
    place = tmp_path / "dump"
    write_dump(place, Dump(contents_of(a_cluster()), 0.0, "actions: dance\ntiers: []\n"))
    result = run("replay", str(place))
    assert result.exit_code == 1
    assert f"{place}[configuration]" in result.stderr


def test_explain_accepts_a_dump(tmp_path: Path) -> None:
    result = run("explain", "-f", a_dump(tmp_path), "large")
    assert result.exit_code == 3
    assert "team/large waits: needs 6 cpu, cluster has 8, jobs use 4.\n0 of 3 pods are scheduled" in result.stdout


def test_plan_accepts_a_dump(tmp_path: Path) -> None:
    report = json.loads(run("plan", "-f", a_dump(tmp_path), "-o", "json").stdout)
    assert sorted(report["binds"]) == ["team/early-0", "team/early-1"]
