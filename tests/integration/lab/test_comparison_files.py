"""The files that a comparison writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stromboli.cli import main

EXAMPLES = Path(__file__).parents[3] / "examples"


def compare(*further: object, policies: tuple[str, ...] = ("fcfs", "easy")) -> Result:
    confs = [part for name in policies for part in ("--conf", str(EXAMPLES / "policies" / f"{name}.conf"))]
    trace = ("--trace", str(EXAMPLES / "traces" / "accounting.txt"), "--nodes", "4", "--cpus-per-node", "16")
    return CliRunner().invoke(main, ["simulate", *trace, "--queues", "user", *confs, *map(str, further)])


def test_pictures_are_files_by_name_and_policy(tmp_path: Path) -> None:
    result = compare("--pictures", tmp_path / "pictures", policies=("easy",))
    assert result.exit_code == 0, result.output
    compared = ["slowdown-by-size", "utilisation-cpu", "wait-distribution", "waiting-jobs"]
    each = ["job-gantt", "node-gantt", "node-map", "queue-areas", "queue-shares"]
    expected = sorted([*compared, *(f"{name}-easy" for name in each)])
    found = sorted(path.name for path in (tmp_path / "pictures").iterdir())
    assert found == sorted(f"{name}.{kind}" for name in expected for kind in ("png", "svg"))


@pytest.mark.parametrize(("option", "library"), [("--parquet", "pyarrow"), ("--pictures", "vl_convert")])
def test_missing_extra_is_an_error_before_the_first_run(
    option: str, library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, library, None)
    result = compare(option, tmp_path / "target", "--results", tmp_path / "results")
    assert result.exit_code == 1
    assert f"{option}: this needs further libraries: pip install 'stromboli[lab]'" in result.stderr
    assert not (tmp_path / "results").exists()
