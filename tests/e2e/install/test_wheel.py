"""The built wheel in an empty virtual environment: the demo and the examples work without a checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

pytestmark = pytest.mark.only("embedded", because="it needs no API server, and runs once")


def run(folder: Path, *command: str | Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    environment |= {"HOME": str(folder), "XDG_STATE_HOME": str(folder)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the commands of a new environment with the wheel and its dependencies."""
    home = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(home)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    venv.create(home / "venv", with_pip=True)
    python, (wheel,) = home / "venv/bin/python", home.glob("*.whl")
    locked = ROOT / "requirements" / "runtime.lock"
    install: list[str | Path] = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, "--require-hashes", "--requirement", locked], cwd=home, check=True)
    subprocess.run([*install, "--no-deps", wheel], cwd=home, check=True)
    return home / "venv/bin"


def test_demo_of_installed_wheel_runs_without_a_terminal(installed: Path, tmp_path: Path) -> None:
    printed = run(tmp_path, installed / "stromboli", "demo", "--for", "3s")
    assert "train: Running, 6 of 6 pods running" in printed
    assert "Next:" in printed


def test_examples_of_installed_wheel_can_be_copied_and_used(installed: Path, tmp_path: Path) -> None:
    run(tmp_path, installed / "stromboli", "examples", "copy")
    assert files_in(tmp_path / "examples") == files_in(ROOT / "examples")
    assert "node-" in run(tmp_path, installed / "stromboli", "topology", "-f", "examples/topology", "-o", "yaml")


def files_in(folder: Path) -> set[Path]:
    """Return the paths of files without caches."""
    files = {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}
    return {path for path in files if not any("cache" in part for part in path.parts)}
