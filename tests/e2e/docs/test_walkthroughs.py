"""Every command of the README, the quick start and the tutorials, typed literally and in order."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.docs.terminal import DEADLINE, Terminal
from tests.e2e.docs.walkthrough import FIRST, STOP, Saved, Step, Typed, missing_line, steps_of

ROOT = Path(__file__).parents[3]
PAGES = [
    "README.md",
    "docs/quickstart.md",
    *sorted(f"docs/tutorials/{path.name}" for path in ROOT.glob("docs/tutorials/*.md")),
]

#: Commands that run until Ctrl-C. The next block is in another terminal.
_RUNS_ON = re.compile(r"stromboli up\b(?!.*--for)")
#: Commands that read. A reader who types too early types them again.
_READS = re.compile(r"kubectl (get|describe|events)\b")
#: Installing needs the network, and the demo takes its time: they have tests of their own. Here the target must exist.
_MAKES = re.compile(r"make ([a-z-]+)$")

pytestmark = pytest.mark.only("embedded", because="the pages use the local cluster")


class Reader:
    """A person who follows a page, in a fresh clone, with an empty home and as many terminals as needed."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        venv = Path(sys.executable).parent
        self.environment = {
            "HOME": str(home),
            "PATH": f"{venv}:{os.environ['PATH']}",
            "LANG": "C.UTF-8",
            "TERM": "xterm",
        }
        self.terminals: dict[str, Terminal] = {}

    def follow(self, step: Step) -> None:
        if isinstance(step, Saved):
            self._save(step)
        else:
            self._type(step)

    def _save(self, file: Saved) -> None:
        """Save a file; an example must contain what the page shows of it."""
        path = self.folder / file.name
        if path.exists() and file.name.startswith("examples/"):
            assert file.text in path.read_text(encoding="utf-8"), f"{file.name} differs from the page"
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file.text, encoding="utf-8")

    def _type(self, step: Typed) -> None:
        if step.terminal not in self.terminals:
            self.terminals[step.terminal] = Terminal(self.folder, self.environment)
        terminal = self.terminals[step.terminal]
        if not step.command:
            self._read_on(terminal, step)
        elif made := _MAKES.match(step.command):
            self._check_target(made[1])
        elif _RUNS_ON.match(step.command):
            terminal.start(step.command)
            self._read_on(terminal, step)
        else:
            self._run(terminal, step)

    def _read_on(self, terminal: Terminal, step: Typed) -> None:
        """Wait for the quoted output of a command that goes on, and stop it if the page does."""
        quoted = [line for line in step.quoted if line != STOP]
        terminal.wait_for(lambda output: not missing_line(quoted, output))
        if step.is_stopped:
            assert terminal.stop()[1] == 0

    def _run(self, terminal: Terminal, step: Typed) -> None:
        deadline = time.monotonic() + DEADLINE
        while True:
            output, code = terminal.run(step.command)
            missing = missing_line(step.quoted, output)
            if not missing or not _READS.match(step.command) or time.monotonic() > deadline:
                break
        assert not missing, f"$ {step.command}\nThe page has this line, the output has not:\n{missing}\n\n{output}"
        assert step.code_is_shown or code == 0 or (step.may_wait and code == 3), (
            f"$ {step.command}\nexit code {code}, not 0\n{output}"
        )

    def _check_target(self, target: str) -> None:
        made = subprocess.run(
            ["make", "-n", target], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )
        assert made.returncode == 0, made.stderr

    def close(self) -> None:
        for terminal in self.terminals.values():
            terminal.close()


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a clone would have: the files that git does not ignore, with the environment that `make setup` creates."""
    folder = tmp_path_factory.mktemp("clone") / "stromboli"
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, names):
        if not name.startswith(("tests/", "benchmarks/")) and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    (folder / ".venv").symlink_to(Path(sys.executable).parents[1])
    return folder


@pytest.fixture
def reader(clone: Path, tmp_path: Path) -> Iterator[Reader]:
    person = Reader(clone, tmp_path)
    try:
        yield person
    finally:
        person.close()


@pytest.mark.parametrize("page", PAGES)
def test_commands_of_the_page_work_as_quoted(page: str, reader: Reader) -> None:
    steps = steps_of((ROOT / page).read_text(encoding="utf-8"))
    assert any(isinstance(step, Typed) for step in steps), "no console blocks"
    for step in steps:
        reader.follow(step)


# -- the conventions --------------------------------------------------------------------------------------------------


def test_page_is_read_as_commands_output_and_files() -> None:
    page = '```yaml title="a.yaml"\nkind: A\n```\n```console\n$ cat a.yaml \\\n    b.yaml\nkind: A\n'
    page += "$ false\n$ echo $?\n1\n```\n"
    page += '```console title="second terminal"\n$ ls\n```\n```sh\nrm -rf /\n```\n'
    assert steps_of(page) == [
        Saved("a.yaml", "kind: A\n"),
        Typed(FIRST, "cat a.yaml \\\n    b.yaml", ["kind: A"]),
        Typed(FIRST, "false", [], code_is_shown=True),
        Typed(FIRST, "echo $?", ["1"]),
        Typed("second terminal", "ls"),
    ]


@pytest.mark.parametrize(
    ("quoted", "output", "missing"),
    [
        pytest.param(["a  b"], "x\na b\n", "", id="blanks"),
        pytest.param(["a", "c"], "a\nb\nc\n", "", id="lines left out"),
        pytest.param(["c", "a"], "a\nb\nc\n", "a", id="another order"),
        pytest.param(["train 4 3s"], "train 4 1m12s\n", "", id="another age"),
        pytest.param(["train 4 3s"], "train 5 3s\n", "train 4 3s", id="another number"),
        pytest.param(["pg-... Running"], "pg-b2f8 Running\n", "", id="abbreviated"),
        pytest.param(["a"], "ab\n", "a", id="part of a line"),
    ],
)
def test_quoted_output_is_compared(quoted: list[str], output: str, missing: str) -> None:
    assert missing_line(quoted, output) == missing


def test_page_with_wrong_output_or_exit_code_is_found(reader: Reader) -> None:
    for page in ("```console\n$ echo 1\n2\n```\n", "```console\n$ false\n```\n", "```console\n$ make no-such\n```\n"):
        with pytest.raises(AssertionError):
            reader.follow(steps_of(page)[0])
