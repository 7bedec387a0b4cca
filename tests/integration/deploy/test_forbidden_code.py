"""What the package never does: evaluate text, unpickle objects, or start a hidden program."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SOURCES = sorted((ROOT / "src" / "stromboli").rglob("*.py"))
RUFF = Path(sys.executable).parent / "ruff"

#: What the linter finds in a module of ours, with the rules of the project.
LINTED = {
    "text that is run": ("eval(text)", "S307"),
    "objects from bytes": ("import pickle\npickle.loads(text)", "S301"),
    "YAML that makes objects": ("import yaml\nyaml.load(text, yaml.Loader)", "S506"),
    "a shell": ("import subprocess\nsubprocess.run(text, shell=True)", "S602"),
    "a program": ("import subprocess\nsubprocess.run([text])", "S603"),
    "a secret in the source": ('password = "hunter2"', "S105"),
    "a certificate that is not checked": ("import ssl\nssl._create_unverified_context()", "S323"),
    "XML of strangers": ("import xml.etree.ElementTree as tree\ntree.fromstring(text)", "S314"),
}


@pytest.mark.parametrize(("text", "rule"), LINTED.values(), ids=LINTED)
def test_the_linter_refuses(text: str, rule: str) -> None:
    command = [str(RUFF), "check", "--stdin-filename", "src/stromboli/module.py", "--output-format", "concise", "-"]
    done = subprocess.run(command, input=f"{text}\n", cwd=ROOT, capture_output=True, text=True, check=False)
    assert f" {rule} " in done.stdout


#: Modules that the package imports nowhere else; a linter finding can be suppressed in a line, this cannot.
FORBIDDEN = {"pickle", "marshal", "shelve", "dbm", "subprocess", "multiprocessing", "ctypes", "code", "telnetlib"}
FORBIDDEN_CALLS = {"eval", "exec", "os.system", "os.popen", "os.fork", "os.execv", "asyncio.create_subprocess_shell"}
#: Simulations run in processes of this module, which exchange objects with their own children alone. Processes
#: call one function of the C library, which returns freed memory to the system.
ALLOWED = {"lab/comparison/local.py": {"multiprocessing"}, "kube/work/collection.py": {"ctypes"}}
#: A kubeconfig may name a program that makes tokens: kubectl starts it, and so do we, without a shell. The
#: scheduler starts its own program for forecasts, and for answers to people.
STARTS_PROGRAMS = {"kube/client/config/exec_plugin.py", "scheduler/forecaster.py", "visibility/process.py"}


def imported(tree: ast.AST) -> Iterator[str]:
    for part in ast.walk(tree):
        if isinstance(part, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in part.names)
        elif isinstance(part, ast.ImportFrom) and part.module:
            yield part.module.partition(".")[0]


def called(tree: ast.AST) -> Iterator[str]:
    for part in ast.walk(tree):
        if isinstance(part, ast.Call) and isinstance(part.func, (ast.Name, ast.Attribute)):
            yield ast.unparse(part.func)


def test_nothing_of_the_kind_is_in_the_package() -> None:
    found: dict[str, set[str]] = {}
    programs = set()
    for path in SOURCES:
        tree, name = ast.parse(path.read_text(encoding="utf-8")), path.relative_to(ROOT / "src/stromboli").as_posix()
        calls = set(called(tree))
        if bad := (set(imported(tree)) & FORBIDDEN) | (calls & FORBIDDEN_CALLS):
            found[name] = bad
        if "asyncio.create_subprocess_exec" in calls:
            programs.add(name)
    assert found == ALLOWED
    assert programs == STARTS_PROGRAMS
    assert len(SOURCES) > 200
