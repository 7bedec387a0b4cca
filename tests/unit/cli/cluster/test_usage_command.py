"""`stromboli usage`: a recorded morning by queue and user, its price, and every output format."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stromboli.cli import main
from tests.testing.histories import example_records, write_records

NOW = "2026-03-02T12:00:00Z"
PRICES = """\
currency: EUR
prices:
  cpu: 0.02
  memory: 0.0025
  nvidia.com/gpu: 1.5
"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("history") / "history.db"
    write_records(str(path), *example_records())
    return str(path)


@pytest.fixture
def prices(tmp_path: Path) -> str:
    path = tmp_path / "prices.yaml"
    path.write_text(PRICES)
    return str(path)


def run(address: str, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["usage", "--history", address, "--now", NOW, *arguments])


def entries(address: str, *arguments: str) -> list[dict[str, object]]:
    result = run(address, *arguments, "-o", "json")
    assert result.exit_code == 0, result.output
    found: list[dict[str, object]] = json.loads(result.stdout)["usage"]
    return found


SELECTED = [
    pytest.param((), {"production": 14_332, "research": 46_666}, id="by queue"),
    pytest.param(("--by", "user"), {"": 14_332, "ana": 46_612, "ben": 54}, id="by user"),
    pytest.param(("--by", "user", "--queue", "research"), {"ana": 46_612, "ben": 54}, id="of one queue"),
    pytest.param(("--by", "job", "--user", "ben"), {"team-a/broken": 54}, id="of one user"),
    pytest.param(("-n", "team-b"), {"production": 14_332}, id="of one namespace"),
    pytest.param(("--since", "1h"), {"research": 2 * 3600 + 4 * 1800}, id="since a duration"),
    pytest.param(("--since", "0", "--until", "2026-03-02T08:02:00Z"), {"research": 4 * 59}, id="until a time"),
    pytest.param(("--since", "2026-03-02T06:00:00Z", "--until", "5h"), {}, id="nothing"),
]


@pytest.mark.parametrize(("arguments", "seconds"), SELECTED)
def test_options_select_usage(arguments: tuple[str, ...], seconds: dict[str, int], address: str) -> None:
    found = entries(address, *arguments)
    assert {next(iter(entry.values())): entry["podSeconds"] for entry in found} == seconds


def test_price_is_that_of_the_list(address: str, prices: str) -> None:
    """A pod requests 8 cpu, 32 GiB and a GPU: 1.74 an hour."""
    for entry in entries(address, "--by", "queue,user", "--prices", prices):
        assert entry["cost"] == pytest.approx(float(entry["podSeconds"]) / 3600 * 1.74, abs=1e-6)  # type: ignore[arg-type]


def test_table_has_a_total(address: str, prices: str) -> None:
    result = run(address, "--by", "queue,user", "--prices", prices)
    assert result.stdout.splitlines() == [
        "QUEUE       USER  RUNS  POD HOURS  CPU HOURS  MEMORY GiB HOURS  GPUS HOURS  COST EUR",
        "production  -        4       3.98      31.85            127.40        3.98      6.93",
        "research    ana     10      12.95     103.58            414.33       12.95     22.53",
        "research    ben      1       0.01       0.12              0.48        0.01      0.03",
        "TOTAL               15      16.94     135.55            542.20       16.94     29.48",
    ]


def test_csv_and_parquet_have_the_same_columns(address: str, prices: str, tmp_path: Path) -> None:
    from pyarrow import parquet

    options = ("--by", "namespace,job", "--prices", prices)
    path = tmp_path / "usage.parquet"
    path.write_bytes(run(address, *options, "-o", "parquet").stdout_bytes)
    rows = list(csv.DictReader(io.StringIO(run(address, *options, "-o", "csv").stdout)))
    table = parquet.read_table(path)
    assert table.column_names == list(rows[0])
    assert table.column_names[-3:] == ["memory_gib_hours", "nvidia.com/gpu_hours", "cost"]
    assert [row["job"] for row in rows] == table["job"].to_pylist()
    assert [float(row["cost"]) for row in rows] == table["cost"].to_pylist()


REJECTED = [
    pytest.param(("--by", "team"), "'team' is not one of queue, user, namespace, job", 2, id="dimension"),
    pytest.param(("--until", "31d"), "--since must be before --until", 2, id="order"),
    pytest.param(("--since", "soon"), "'soon'", 2, id="time"),
]


@pytest.mark.parametrize(("arguments", "message", "code"), REJECTED)
def test_wrong_usage_is_rejected(arguments: tuple[str, ...], message: str, code: int, address: str) -> None:
    result = run(address, *arguments)
    assert (result.exit_code, message in result.output) == (code, True), result.output


INVALID_PRICES = [
    pytest.param("cpu: 1", "prices.yaml:1: unknown key 'cpu'; a price list has currency and prices", id="no prices"),
    pytest.param(
        "prices:\n  cpu: -1", "prices.yaml:2: prices.cpu: expected a price of 0 or more, got -1", id="negative"
    ),
    pytest.param("prices:\n  cpu: much", "prices.yaml:2: prices.cpu: expected a price of 0 or more", id="text"),
]


@pytest.mark.parametrize(("text", "message"), INVALID_PRICES)
def test_invalid_price_list_is_rejected_with_its_line(text: str, message: str, address: str, tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(text)
    result = run(address, "--prices", str(path))
    assert result.exit_code == 1
    assert message in result.output
