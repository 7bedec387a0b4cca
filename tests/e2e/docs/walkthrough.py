"""The commands of a page in order, what they print, and the files that the reader saves.

The conventions of the pages:

* In a `console` block, lines that begin with `$ ` are commands, continued after a backslash at the end of the line. The
  other lines are output, possibly abbreviated: `...` stands for any text, and on a line of its own for any lines.
* `title="second terminal"` names the terminal of a block; without a title it is the first one. `^C` at the end of a
  block stops the command that runs in it.
* A command ends with exit code 0, unless the next one is `echo $?`. On a page that mentions exit code 3, `plan` and
  `explain` may end with it.
* A block of another language with a file name as its title is a file: one of the examples, or one to save.
* Other blocks, such as `sh`, are not run: they need a real cluster or the network.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

FIRST = "first terminal"
STOP = "^C"

_BLOCK = re.compile(r"^( *)```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
_WAITS = re.compile(r"\bstromboli (plan|explain)\b")
_STYLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
#: Ages, times, uids and other values that differ from run to run.
_VARYING = re.compile(
    r"\b\d{4}-\d\d-\d\dT[\d:.]+Z?"
    r"|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
    r"|(?<![\w.])(?:\d+[dhm])*\d+(?:ms|[smhd])(?![\w])"
)


@dataclass(slots=True)
class Typed:
    """A command in a terminal, and the output that the page quotes."""

    terminal: str
    command: str
    quoted: list[str] = field(default_factory=list)
    code_is_shown: bool = False
    may_wait: bool = False

    @property
    def is_stopped(self) -> bool:
        """Report whether the page ends the command by Ctrl-C here."""
        return STOP in self.quoted


@dataclass(frozen=True, slots=True)
class Saved:
    """A file that the page shows."""

    name: str
    text: str


Step = Typed | Saved


def steps_of(page: str) -> list[Step]:
    """Return the steps of a page in order."""
    steps: list[Step] = []
    for indent, language, title, body in _BLOCK.findall(page):
        text = re.sub(rf"^{indent}", "", body, flags=re.MULTILINE)
        if language == "console":
            steps += _commands(text, title or FIRST)
        elif "." in title:
            steps.append(Saved(title, text))
    typed = [step for step in steps if isinstance(step, Typed)]
    for step, following in pairwise(typed):
        step.code_is_shown = following.command == "echo $?"
    for step in typed:
        step.may_wait = "exit code 3" in page.lower() and bool(_WAITS.search(step.command))
    return steps


def _commands(text: str, terminal: str) -> Iterator[Typed]:
    """Return the commands of a console block. Output before the first command belongs to one of an earlier block."""
    current = Typed(terminal, "")
    for line in text.splitlines():
        if current.command.endswith("\\"):
            current.command += "\n" + line
        elif line.startswith("$ "):
            if current.command or current.quoted:
                yield current
            current = Typed(terminal, line.removeprefix("$ "))
        elif line.strip():
            current.quoted.append(line)
    yield current


def missing_line(quoted: list[str], output: str) -> str:
    """Return the first quoted line that the output does not have after those before it; empty if it has all."""
    lines = iter([_squeezed(line) for line in output.splitlines()])
    for line in quoted:
        if line.strip() in ("...", STOP):
            continue
        if not any(_pattern(line).fullmatch(found) for found in lines):
            return line
    return ""


def _squeezed(line: str) -> str:
    """Return the line as the terminal shows it in the end: without styles and what a carriage return overwrote."""
    return " ".join(_STYLE.sub("", line).rpartition("\r")[2].split())


def _pattern(line: str) -> re.Pattern[str]:
    """Return a pattern for a quoted line: exact but for blanks, abbreviations and values that differ."""
    parts = re.split(rf"(\.\.\.|{_VARYING.pattern})", _squeezed(line))
    known = [r".*" if part == "..." else r"\S+" if _VARYING.fullmatch(part) else re.escape(part) for part in parts]
    return re.compile("".join(known))
