"""The house rules that `make check` enforces: what they report, and that what they should not report passes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools.house import MAX_MODULES, violations

CONTRACTS = '[[tool.importlinter.contracts]]\nsource_modules = ["stromboli.core"]\n'
CLEAN = {"pyproject.toml": CONTRACTS, "src/stromboli/core/__init__.py": '"""The core."""\n'}

CASES: list[tuple[str, dict[str, str], list[str]]] = [
    ("a clean tree", {}, []),
    (
        "two classes of one name",
        {"src/stromboli/core/a.py": "class Job: ...\n", "src/stromboli/core/b.py": "class Job: ...\n"},
        ["src/stromboli/core/b.py:1: class Job is also defined in src/stromboli/core/a.py:1: choose another name"],
    ),
    ("test classes may repeat", {"tests/a.py": "class Job: ...\n", "tests/b.py": "class Job: ...\n"}, []),
    ("a full folder", {f"tests/m{number}.py": "" for number in range(MAX_MODULES)}, []),
    (
        "a crowded folder",
        {f"tests/m{number}.py": "" for number in range(MAX_MODULES + 1)},
        ["tests: 21 modules, at most 20: which folders would show its parts?"],
    ),
    ("a docstring", {"src/a.py": '"""Nobody waits."""\n'}, ["src/a.py:1: 'Nobody': write name the subject"]),
    ("a comment", {"src/a.py": "x = 1  # told later\n"}, ["src/a.py:1: 'told': write reported"]),
    ("an identifier", {"src/a.py": "free_rooms = 1\n"}, ["src/a.py:1: 'rooms': write capacity, placements"]),
    ("a class name", {"src/a.py": "class TruceKeeper: ...\n"}, ["src/a.py:1: 'Truce': write thrash guard"]),
    ("a page", {"docs/a.md": "# A\n\nIt waits for ever.\n"}, ["docs/a.md:3: 'for ever': write indefinitely"]),
    ("a part of a word", {"docs/a.md": "headroom, mushrooms, historyless"}, []),
    (
        "a package without a contract",
        {"src/stromboli/lost/__init__.py": ""},
        ["pyproject.toml: stromboli.lost is in no import contract: add it to [tool.importlinter]"],
    ),
]


@pytest.mark.parametrize(("files", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_violations_are_reported_with_place_and_remedy(
    files: dict[str, str], expected: list[str], tmp_path: Path
) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    for name, text in {**CLEAN, **files}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert violations(tmp_path) == expected
