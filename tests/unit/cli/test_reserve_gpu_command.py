"""`stromboli reserve-gpu`."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from stromboli.cli import main
from stromboli.cli.commands.run.reserve_gpu import NotOneGpu, visible_gpu

ONE, OTHER = "GPU-5c1f2e9a-1111-2222-3333-444455556666", "GPU-aaaa1111-2222-3333-4444-555566667777"
VISIBLE = "NVIDIA_VISIBLE_DEVICES"

FOUND = [
    ("device plugin", {VISIBLE: ONE}, [], ONE),
    ("device plugin with other values", {VISIBLE: f"void,{ONE}"}, [], ONE),
    ("driver", {}, [ONE], ONE),
    ("device plugin with all", {VISIBLE: "all"}, [ONE], ONE),
    ("several of the device plugin", {VISIBLE: f"{ONE},{OTHER}"}, [], None),
    ("several of the driver", {VISIBLE: "all"}, [ONE, OTHER], None),
    ("none", {}, [], None),
]


@pytest.mark.parametrize(
    ("environment", "described", "expected"), [each[1:] for each in FOUND], ids=[each[0] for each in FOUND]
)
def test_visible_gpu_is_found(
    tmp_path: Path, environment: dict[str, str], described: list[str], expected: str | None
) -> None:
    for place, gpu in enumerate(described):
        folder = tmp_path / f"0000:0{place}:00.0"
        folder.mkdir()
        (folder / "information").write_text(f"Model: \t\t NVIDIA A100\nIRQ:   \t\t 33\nGPU UUID: \t {gpu}\n")
    if expected is None:
        with pytest.raises(NotOneGpu):
            visible_gpu(environment, tmp_path)
    else:
        assert visible_gpu(environment, tmp_path) == expected


def test_gpu_name_is_written_to_the_termination_log(tmp_path: Path) -> None:
    to = tmp_path / "termination-log"
    done = CliRunner().invoke(main, ["reserve-gpu", "--to", str(to)], env={VISIBLE: ONE})
    assert (done.exit_code, done.output, to.read_text()) == (0, f"{ONE}\n", ONE)


def test_fake_gpu_is_reported(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["reserve-gpu", "--fake", "--to", str(tmp_path / "termination-log")])
    assert done.exit_code == 0
    assert done.output.startswith("GPU-fake-")


def test_missing_gpu_is_an_error(tmp_path: Path) -> None:
    to = str(tmp_path / "termination-log")
    done = CliRunner().invoke(main, ["reserve-gpu", "--to", to], env={VISIBLE: ""})
    assert done.exit_code == 1
    assert "no GPU is visible: NVIDIA_VISIBLE_DEVICES names none" in done.output


def test_hold_ends_with_a_signal() -> None:
    with subprocess.Popen([sys.executable, "-m", "stromboli", "reserve-gpu", "--hold"], stdout=subprocess.PIPE) as held:
        assert held.stdout is not None
        assert held.stdout.readline() == b"holding\n"
        held.send_signal(signal.SIGTERM)
        assert held.wait(30) == 0
