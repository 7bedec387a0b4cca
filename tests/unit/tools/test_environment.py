"""The environment of a checkout: which locks a target installs, what is printed meanwhile, and what is done again."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools import environment

ROOT = Path(__file__).parents[3]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = sorted(re.findall(r"^([a-z0-9-]+):", MAKEFILE, re.MULTILINE))

# -- targets ----------------------------------------------------------------------------------------------------------


def make(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run make as in a fresh clone, also when make runs the tests."""
    for name in ("Makefile", "pyproject.toml", "requirements"):
        (folder / name).symlink_to(ROOT / name)
    outside = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(["make", *arguments], cwd=folder, env=outside, capture_output=True, text=True, check=False)


#: The sets of requirements that a target needs, in this order.
NEEDS = {
    "demo": ["runtime"],
    "kubectl": ["runtime", "kubectl"],
    "test": ["runtime", "dev"],
    "test-fast": ["runtime", "dev"],
    "check": ["runtime", "dev"],
    "docs": ["runtime", "dev"],
    "e2e": ["runtime", "dev"],
    "bench": ["runtime", "dev"],
}


@pytest.mark.parametrize(("target", "sets"), NEEDS.items(), ids=NEEDS)
def test_target_installs_what_it_needs(target: str, sets: list[str], tmp_path: Path) -> None:
    commands = make("-n", target, folder=tmp_path).stdout.splitlines()
    assert [line.split()[-1] for line in commands if "tools/environment.py" in line] == sets


def test_runtime_set_has_no_development_lock() -> None:
    assert environment.SETS["runtime"][1] == ["runtime.lock", "build.lock"]


def test_help_lists_every_target(tmp_path: Path) -> None:
    listed = make("help", folder=tmp_path).stdout
    assert sorted(re.findall(r"^  make (\S+) +\S", listed, re.MULTILINE)) == TARGETS


def test_old_python_is_rejected_in_one_line(tmp_path: Path) -> None:
    old = tmp_path / "python3.9"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "Python 3.9.2" && exit 0\nexit 1\n')
    old.chmod(0o755)
    first, *rest = make("demo", f"PYTHON={old}", folder=tmp_path).stderr.splitlines()
    assert first.startswith(f"Stromboli needs Python 3.11 or newer, and {old} is: Python 3.9.2.")
    assert "make demo PYTHON=python3.12" in first
    assert all(line.startswith("make: ***") for line in rest)
    assert not (tmp_path / ".venv").exists()


# -- progress ---------------------------------------------------------------------------------------------------------

LINES = {
    "Collecting numpy==2.4.6 (from -r requirements/runtime.lock (line 767))": "",
    "  Downloading numpy-2.4.6-cp311-cp311-manylinux_2_28_x86_64.whl (16.9 MB)": "  numpy 2.4.6 (16.9 MB)",
    "  Downloading numpy-2.4.6-cp311-cp311-manylinux_2_28_x86_64.whl.metadata (6.6 kB)": "",
    "Using cached google_re2-1.1.2-1-cp311-cp311-linux_x86_64.whl (590 kB)": "  google-re2 1.1.2 (590 kB)",
    "Processing /somewhere/else/rich-15.0.0-py3-none-any.whl": "  rich 15.0.0",
    "Requirement already satisfied: rich==15.0.0 in ./.venv/lib/python3.11/site-packages": "",
    "Installing collected packages: rich, numpy, attrs": "  unpacking 3 packages",
    "Installing collected packages: stromboli": "  unpacking stromboli",
}


@pytest.mark.parametrize(("line", "shown"), LINES.items())
def test_progress_is_a_line_per_package(line: str, shown: str) -> None:
    assert environment.progress(f"{line}\n") == shown


# -- repetition -------------------------------------------------------------------------------------------------------


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """Run in an empty folder, without the network; return the calls of pip."""
    calls: list[tuple[str, ...]] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(environment, "pip", lambda *arguments: calls.append(arguments))
    monkeypatch.setattr(environment, "create", lambda: (tmp_path / ".venv" / "bin").mkdir(parents=True, exist_ok=True))
    return calls


def stamps(folder: Path) -> set[str]:
    return {path.name for path in (folder / ".venv").glob(".*")}


def test_new_environment_gets_runtime_requirements_and_the_package(
    installed: list[tuple[str, ...]], tmp_path: Path
) -> None:
    environment.main("runtime")
    locked, package = installed
    assert locked == ("--require-hashes", "-r", "requirements/runtime.lock", "-r", "requirements/build.lock")
    assert package == ("--no-deps", "--no-build-isolation", "-e", ".")
    assert stamps(tmp_path) == {".runtime"}


def test_interrupted_installation_is_started_again(
    installed: list[tuple[str, ...]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: str) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(environment, "pip", interrupted)
        with pytest.raises(SystemExit, match="interrupted: the next make"):
            environment.main("dev")
    assert stamps(tmp_path) == {".installing"}
    (tmp_path / ".venv" / "bin" / "python").symlink_to(sys.executable)
    assert not environment.is_usable()
    environment.main("dev")
    assert [arguments[-1] for arguments in installed] == ["requirements/build.lock", ".", "requirements/dev.lock"]
    assert stamps(tmp_path) == {".runtime", ".dev"}


def test_environment_without_pip_is_not_usable(installed: list[tuple[str, ...]], tmp_path: Path) -> None:
    """`python -m venv` leaves one behind where the system has no ensurepip."""
    environment.create()
    python = tmp_path / ".venv" / "bin" / "python"
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    assert not environment.is_usable()
    python.write_text("#!/bin/sh\nexit 0\n")
    assert environment.is_usable()
    assert installed == []
