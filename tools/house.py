"""The rules of the house that no linter has: `python tools/house.py`, part of `make check`.

* Class names are unique in the package: a traceback, a grep and a log line lead to one class.
* A folder holds at most 20 modules.
* A word list for text that people read: docstrings, comments, strings, identifiers, pages.
* Every package of `stromboli` is part of an import contract.

Each violation is one line with file, line and remedy; the exit code is 1 if there is any.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

MAX_MODULES = 20

#: A word that is not used, and what is written instead.
WORDS = {
    "aftermath": "carryover",
    "anybody": "name the subject",
    "anyone": "name the subject",
    "bury": "record a tombstone",
    "claimant": "preemptor",
    "everybody": "name the subject",
    "everyone": "name the subject",
    "forgive": "retry, ignore",
    "forgives": "retries, ignores",
    "graves": "tombstones",
    "hears": "receives",
    "lawful": "allowed",
    "leftovers": "orphaned preparations",
    "narrator": "report",
    "nearness": "distance",
    "nobody": "name the subject",
    "obstacle": "precondition error",
    "oversights": "missing objects",
    "patience": "timeout, retry policy",
    "playground": "local cluster",
    "rehouse": "relocate",
    "room": "capacity",
    "rooms": "capacity, placements",
    "says": "reports, contains",
    "somebody": "name the subject",
    "someone": "name the subject",
    "standin": "fake",
    "standins": "fakes",
    "stories": "tests",
    "story": "test",
    "surroundings": "context",
    "takings": "eviction history",
    "tell": "report",
    "telling": "report",
    "tells": "reports",
    "told": "reported",
    "truce": "thrash guard",
    "whoever": "name the subject",
    "wish": "preference, constraint",
    "wishes": "preferences, constraints",
    "worksheet": "pending tasks",
}
PHRASES = {
    "bad day": "fault schedule",
    "for ever": "indefinitely",
    "foul weather": "fault schedule",
    "in words": "as a message",
    "mistake of ours": "internal error",
    "stand-in": "fake",
    "stand-ins": "fakes",
}
_PATTERN = re.compile(r"\b(" + "|".join(sorted((*WORDS, *PHRASES), key=len, reverse=True)) + r")\b", re.IGNORECASE)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

#: Folders with text of the product. Lock files and copies of other projects' definitions are not its text.
TEXT = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs", "examples", "charts", "deploy")
CODE = ("src", "tests", "benchmarks", "testbed", "tools", "examples", "charts")
TEXT_SUFFIXES = {".md", ".yaml", ".yml", ".tpl", ".txt", ".json", ".toml"}

#: The list itself and its tests.
EXEMPT = {"house.py", "test_house.py"}

Finding = tuple[Path, int, str]


def files(root: Path, folders: Sequence[str], suffixes: set[str]) -> list[Path]:
    """The files below these folders that git does not ignore."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *folders],
        cwd=root, check=True, capture_output=True, text=True,
    ).stdout.splitlines()  # fmt: skip
    return [path for name in listed if (path := root / name).suffix in suffixes and path.exists()]


def repeated_classes(root: Path) -> Iterator[Finding]:
    """Class names of the package that are defined more than once."""
    places: dict[str, list[tuple[Path, int]]] = defaultdict(list)
    for path in files(root, ["src"], {".py"}):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append((path, node.lineno))
    for name, found in sorted(places.items()):
        for path, line in found[1:]:
            first, at = found[0]
            yield path, line, f"class {name} is also defined in {first.relative_to(root)}:{at}: choose another name"


def crowded_folders(root: Path) -> Iterator[Finding]:
    """Folders with more modules than a person can see at once."""
    modules: dict[Path, int] = defaultdict(int)
    for path in files(root, ["src", "tests"], {".py"}):
        modules[path.parent] += path.name != "__init__.py"
    for folder, count in sorted(modules.items()):
        if count > MAX_MODULES:
            yield folder, 0, f"{count} modules, at most {MAX_MODULES}: which folders would show its parts?"


def texts_of(path: Path) -> Iterator[tuple[int, str]]:
    """What people read in a file: every line of a page; identifiers, comments and strings of a module."""
    source = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield from enumerate(source.splitlines(), 1)
        return
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME:
            yield token.start[0], _CAMEL.sub(" ", token.string).replace("_", " ")
        elif token.type in (tokenize.COMMENT, tokenize.STRING):
            for offset, line in enumerate(token.string.splitlines()):
                yield token.start[0] + offset, line


def discouraged_words(root: Path) -> Iterator[Finding]:
    """Words of the list above."""
    for path in sorted({*files(root, CODE, {".py"}), *files(root, TEXT, TEXT_SUFFIXES)}):
        if path.name in EXEMPT:
            continue
        for line, text in texts_of(path):
            for match in _PATTERN.finditer(text):
                word = match[0].lower()
                yield path, line, f"{match[0]!r}: write {WORDS.get(word) or PHRASES[word]}"


def packages_without_contract(root: Path) -> Iterator[Finding]:
    """Packages of `stromboli` that no import contract names."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = repr(settings["tool"]["importlinter"]["contracts"])
    for package in sorted((root / "src" / "stromboli").glob("*/__init__.py")):
        name = f"stromboli.{package.parent.name}"
        if not re.search(rf"'{re.escape(name)}['.]", contracts):
            yield root / "pyproject.toml", 0, f"{name} is in no import contract: add it to [tool.importlinter]"


CHECKS = (repeated_classes, crowded_folders, discouraged_words, packages_without_contract)


def violations(root: Path) -> list[str]:
    """Every violation below this folder, as one line each."""
    found = [finding for check in CHECKS for finding in check(root)]
    return [f"{path.relative_to(root)}{f':{line}' if line else ''}: {message}" for path, line, message in found]


def main() -> int:
    """Print every violation; the exit code is 1 if there is any."""
    found = violations(Path(__file__).parents[1])
    print("\n".join(found) or "house rules: no violations")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
