"""`stromboli fairshare`: shares in a tree of queues and of users, and what is missing."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from stromboli.cli import main
from tests.testing.histories import example_records, write_records

NOW = "2026-03-02T12:00:00Z"
#: Of 160 processors in a window of four hours, production used 14332 * 8 seconds, and research 46666 * 8.
WHOLE = 160 * 4 * 3600
PRODUCTION, RESEARCH = 14_332 * 8 / WHOLE, 46_666 * 8 / WHOLE
ANNOTATION = "scheduling.stromboli.dev/user-weights"


def a_queue(name: str, weight: int, parent: str = "", **notes: str) -> Mapping[str, Any]:
    spec = {"weight": weight, **({"parent": parent} if parent else {})}
    metadata = {"name": name, "annotations": {ANNOTATION: notes["weights"]} if notes else {}}
    return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": metadata, "spec": spec}


NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "a"},
    "status": {"allocatable": {"cpu": "160", "memory": "640Ti", "pods": "100"}},
}
WORLD = [
    NODE,
    a_queue("default", 1),
    a_queue("science", 3),
    a_queue("research", 1, "science", weights="ana=3,ben=1"),
    a_queue("teaching", 3, "science"),
    a_queue("production", 1),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    write_records(str(tmp_path / "history.db"), *example_records())
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump_all(WORLD))
    return tmp_path


def run(folder: Path, *arguments: str, history: bool = True, plugin: str = "fairshare", **values: object) -> Result:
    given = {"halfLife": "0s", "window": "4h", "k": 1, "perUser": True, **values} if plugin == "fairshare" else {}
    plugins = [{"name": plugin, "arguments": given}, {"name": "proportion"}]
    (folder / "policy.yaml").write_text(yaml.safe_dump({"actions": "allocate", "tiers": [{"plugins": plugins}]}))
    options = ["-f", str(folder / "cluster.yaml"), "--conf", str(folder / "policy.yaml"), "--now", NOW]
    options += ["--history", str(folder / "history.db")] if history else []
    return CliRunner().invoke(main, ["fairshare", *options, *arguments])


def shares(folder: Path, *arguments: str, **values: object) -> dict[tuple[str, str | None], dict[str, Any]]:
    result = run(folder, *arguments, "-o", "json", **values)  # type: ignore[arg-type]
    assert result.exit_code == 0, result.output
    return {(each["queue"], each.get("user")): each for each in json.loads(result.stdout)["shares"]}


def test_usage_of_a_tree_is_that_of_the_history_in_relation_to_the_weights(folder: Path) -> None:
    found = shares(folder)
    assert {key: each["usage"] for key, each in found.items()} == pytest.approx(
        {
            ("default", None): 0, ("production", None): PRODUCTION, ("production", ""): PRODUCTION,
            ("science", None): RESEARCH, ("research", None): RESEARCH, ("teaching", None): 0,
            ("research", "ana"): 46_612 * 8 / WHOLE, ("research", "ben"): 54 * 8 / WHOLE,
        }
    )  # fmt: skip
    normal = {queue: each["normalWeight"] for (queue, user), each in found.items() if user is None}
    assert normal == {"default": 0.2, "production": 0.2, "science": 0.6, "research": 0.25, "teaching": 0.75}
    assert found["research", "ana"]["normalWeight"] == 0.75
    assert found["research", None]["resourceSeconds"]["cpu"] == pytest.approx(46_666 * 8)


@pytest.mark.parametrize("k", [0.0, 1.0, 4.0])
def test_effective_share_is_that_of_the_formula(k: float, folder: Path) -> None:
    found = shares(folder, k=k)
    used = {"default": (0.2, 0.0), "production": (0.2, PRODUCTION), "science": (0.6, RESEARCH)}
    expected = {name: max(0.0, n + k * (n - u)) for name, (n, u) in used.items()}
    total = sum(expected.values())
    cpu = {name: found[name, None]["effectiveShares"]["cpu"] for name in expected}
    assert cpu == pytest.approx({name: value / total for name, value in expected.items()})
    below = found["research", None]["effectiveShares"]["cpu"], found["teaching", None]["effectiveShares"]["cpu"]
    formula = max(0.0, 0.25 + k * (0.25 - 1)), 0.75 + k * 0.75
    assert below == pytest.approx(tuple(value / sum(formula) for value in formula))


def test_factor_is_the_usage_for_the_weight(folder: Path) -> None:
    """Nothing runs, so that it is proportional to the past usage divided by the weight; below the top, of the parts of
    both: only one child has used anything.
    """
    found = shares(folder)
    factors = {key: each["factor"] for key, each in found.items() if each["usage"]}
    assert factors.pop(("research", None)) == pytest.approx(1 / found["research", None]["normalWeight"])
    expected = {key: found[key]["usage"] / found[key]["weight"] for key in factors}
    ratio = factors["science", None] / expected["science", None]
    assert factors == pytest.approx({key: value * ratio for key, value in expected.items()})


def test_users_are_listed_only_if_they_share_their_queue(folder: Path) -> None:
    assert {user for _, user in shares(folder, perUser=False)} == {None}
    assert list(shares(folder, "--queue", "research")) == [
        ("research", None), ("research", "ana"), ("research", "ben"),
    ]  # fmt: skip


MISSING = [
    pytest.param({"history": False}, "names no history, as that of stromboli up does; name one with", id="history"),
    pytest.param({"plugin": "drf"}, "the policy does not list the plugin fairshare; add it, or name", id="plugin"),
]


@pytest.mark.parametrize(("values", "message"), MISSING)
def test_what_is_missing_is_named(values: dict[str, Any], message: str, folder: Path) -> None:
    result = run(folder, **values)
    assert (result.exit_code, message in result.stderr) == (1, True), result.output


def test_unknown_queue_is_an_error_that_lists_the_queues(folder: Path) -> None:
    result = run(folder, "--queue", "sales")
    assert result.stderr == "error: no queue sales; there are default, production, science, research, teaching\n"


def test_every_format_has_the_same_entries(folder: Path) -> None:
    rows = run(folder, "-o", "csv").stdout.splitlines()
    names = run(folder, "-o", "name").stdout.splitlines()
    table = run(folder, "-o", "wide").stdout.splitlines()
    number = len(shares(folder))
    assert (len(rows), len(names), len(table)) == (number + 1, number, number + 2)
    assert names[-3:] == [
        "queue.scheduling.volcano.sh/research/ana",
        "queue.scheduling.volcano.sh/research/ben",
        "queue.scheduling.volcano.sh/teaching",
    ]


def test_csv_and_parquet_have_the_same_columns(folder: Path) -> None:
    from pyarrow import parquet

    path = folder / "shares.parquet"
    path.write_bytes(run(folder, "-o", "parquet").stdout_bytes)
    rows = list(csv.DictReader(io.StringIO(run(folder, "-o", "csv").stdout)))
    table = parquet.read_table(path)
    assert table.column_names == list(rows[0])
    assert [row["user"] for row in rows] == table["user"].to_pylist()
    for name in ("factor", "cpu_effective_share"):
        assert [float(row[name]) if row[name] else None for row in rows] == table[name].to_pylist()
