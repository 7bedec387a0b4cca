"""README and CONTRIBUTING: the targets, folders and files that they name exist."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "stromboli"
TARGETS = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
PAGES = [".ci/run", *(path.relative_to(ROOT).as_posix() for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_make_targets_exist(page: str) -> None:
    named = re.findall(r"(?:^|[`$] ?)make ([a-z0-9-]+)", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
    assert set(named) <= TARGETS


def test_contributing_describes_every_target() -> None:
    assert set(re.findall(r"`make ([a-z0-9-]+)`", CONTRIBUTING)) == TARGETS - {"help"}


def layout() -> dict[str, list[str]]:
    """Return the folders of the layout by their parent."""
    block = CONTRIBUTING.split("```")[1]
    found: dict[str, list[str]] = {"": [], "src/stromboli/": [], "core/": []}
    for indent, name in re.findall(r"^( *)([\w-]+(?:/[\w-]+)*/)", block, re.MULTILINE):
        found[["", "src/stromboli/", "core/"][len(indent) // 2]].append(name)
    return found


def folders(parent: Path) -> set[str]:
    return {f"{path.name}/" for path in parent.iterdir() if (path / "__init__.py").exists()}


def test_layout_lists_every_package() -> None:
    assert set(layout()["src/stromboli/"]) == folders(PACKAGE)
    assert set(layout()["core/"]) == folders(PACKAGE / "core")


def test_layout_lists_every_folder() -> None:
    tracked = subprocess.check_output(["git", "ls-tree", "-d", "--name-only", "HEAD"], cwd=ROOT, text=True).split()
    shown = {f"{name}/" for name in tracked if not name.startswith(".")}
    assert set(layout()[""]) == shown - {"src/"} | {"src/stromboli/"}


def test_paths_in_contributing_exist() -> None:
    named = re.findall(r"`((?:[\w-]+/)+[\w.-]*)`", CONTRIBUTING)
    assert len(named) > 10
    missing = [path for path in named if not any((top / path).exists() for top in (ROOT, PACKAGE))]
    assert set(missing) <= {"site/"}  # `make docs` creates it
