"""The check that built pages are current: it finds a change of a source, of a type, and of a built file."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tools import web


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    files = {
        "web/src/main.tsx": "1",
        "src/stromboli/console/static/index.html": "2",
        "src/stromboli/console/openapi.json": json.dumps({"summary": "Jobs", "type": "object"}),
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("node_modules/\n")
    (tmp_path / web.RECORD).write_text(json.dumps(web.hashes(tmp_path)))
    return tmp_path


def edit_source(root: Path) -> None:
    (root / "web/src/main.tsx").write_text("changed")


def add_source(root: Path) -> None:
    (root / "web/src/more.ts").write_text("")


def rename_source(root: Path) -> None:
    (root / "web/src/main.tsx").rename(root / "web/src/other.tsx")


def edit_build(root: Path) -> None:
    (root / web.BUILT / "index.html").write_text("changed")


def edit_type(root: Path) -> None:
    (root / web.API).write_text(json.dumps({"summary": "Jobs", "type": "array"}))


def edit_description(root: Path) -> None:
    (root / web.API).write_text(json.dumps({"summary": "All jobs", "type": "object"}))


def install_packages(root: Path) -> None:
    (root / "web/node_modules").mkdir()
    (root / "web/node_modules/index.js").write_text("")


def leave(root: Path) -> None:
    pass


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (leave, []),
        (install_packages, []),
        (edit_description, []),
        (edit_source, ["web/"]),
        (add_source, ["web/"]),
        (rename_source, ["web/"]),
        (edit_type, ["web/"]),
        (edit_build, ["src/stromboli/console/static/"]),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_changes_since_the_build_are_found(checkout: Path, change: Callable[[Path], None], found: list[str]) -> None:
    change(checkout)
    messages = web.violations(checkout)
    assert [message.split()[0] for message in messages] == found
    assert all("run `make web`" in message for message in messages)


def test_missing_record_is_not_current(checkout: Path) -> None:
    (checkout / web.RECORD).unlink()
    assert len(web.violations(checkout)) == 2
