"""`stromboli reserve-gpu` says which GPU a container was given, and holds it until it is asked to stop."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from stromboli.binder.reservations.finding import NotOneGpu, listed_in, visible_gpu
from stromboli.cli import main

LISTED = """\
GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-5c1f2e9a-1111-2222-3333-444455556666)
  MIG 1g.5gb     Device  0: (UUID: MIG-aaaa1111-2222-3333-4444-555566667777)
"""
ONE = "GPU-5c1f2e9a-1111-2222-3333-444455556666"

ENVIRONMENTS = [
    ("the device plugin says which", {"NVIDIA_VISIBLE_DEVICES": ONE}, ONE),
    ("or says it among other words", {"NVIDIA_VISIBLE_DEVICES": f"void,{ONE}"}, ONE),
    ("several are not one", {"NVIDIA_VISIBLE_DEVICES": f"{ONE},GPU-2"}, NotOneGpu),
    ("all of them are not one", {"NVIDIA_VISIBLE_DEVICES": "all", "PATH": ""}, NotOneGpu),
]


@pytest.mark.parametrize(("environment", "expected"), [e[1:] for e in ENVIRONMENTS], ids=[e[0] for e in ENVIRONMENTS])
def test_which_gpu_is_visible(
    environment: dict[str, str], expected: str | type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    if isinstance(expected, str):
        assert visible_gpu(environment) == expected
    else:
        with pytest.raises(expected):
            visible_gpu(environment)


def test_what_the_driver_lists() -> None:
    assert listed_in(LISTED) == [ONE, "MIG-aaaa1111-2222-3333-4444-555566667777"]
    assert listed_in("No devices found.") == []


def test_the_name_is_left_for_kubernetes(tmp_path: Path) -> None:
    to = tmp_path / "last-words"
    done = CliRunner().invoke(main, ["reserve-gpu", "--to", str(to)], env={"NVIDIA_VISIBLE_DEVICES": ONE})
    assert (done.exit_code, done.output, to.read_text()) == (0, f"{ONE}\n", ONE)


def test_a_gpu_that_is_made_up(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["reserve-gpu", "--fake", "--to", str(tmp_path / "last-words")])
    assert done.exit_code == 0
    assert done.output.startswith("GPU-fake-")


def test_without_a_gpu_it_says_so(tmp_path: Path) -> None:
    to = str(tmp_path / "last-words")
    done = CliRunner().invoke(main, ["reserve-gpu", "--to", to], env={"NVIDIA_VISIBLE_DEVICES": "", "PATH": ""})
    assert done.exit_code == 1
    assert "NVIDIA_VISIBLE_DEVICES names no GPU, and nvidia-smi cannot be asked" in done.output


def test_it_holds_until_it_is_asked_to_stop() -> None:
    with subprocess.Popen([sys.executable, "-m", "stromboli", "reserve-gpu", "--hold"], stdout=subprocess.PIPE) as held:
        assert held.stdout is not None
        assert held.stdout.readline() == b"holding\n"
        held.send_signal(signal.SIGTERM)
        assert held.wait(30) == 0
