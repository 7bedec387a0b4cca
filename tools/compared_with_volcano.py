"""Writes docs/compared-with-volcano.md from the cases in tests/e2e/volcano.

`python tools/compared_with_volcano.py` prints the page, and with `--write` stores it. A test fails when the page is
stale, or when a case refers to a difference that docs/compatibility.md does not describe.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "compared-with-volcano.md"
DIFFERENCES = ROOT / "docs" / "compatibility.md"
SUITES = ROOT / "tests" / "e2e" / "volcano" / "suites"
#: The suites in the order of the page.
ORDER = (
    "gang", "placement", "order", "enqueue", "preempt", "reclaim", "capacity", "hierarchy", "gang-evict", "hypernodes",
    "jobs", "commands",
)  # fmt: skip
_INTRODUCTION = """# Compared with Volcano, case by case

These are situations of Volcano's end-to-end suites, in our own words. Every change is tested with all of them: with the
default configuration file of Volcano's installation (`default.conf`), and with the actions and plugins that its suites
enable in others; on a real API server with a real kube-controller-manager and simulated nodes, and on the embedded
server. What Volcano does is its documented behaviour (version 1.15); Volcano itself does not run in these tests.

{total} situations; Stromboli does the same in {same} of them. Where it differs, the last column links to the reason in
[Compatibility](compatibility.md).

This page is generated from the test cases: `python tools/compared_with_volcano.py --write`.
"""


class UnknownDifference(ValueError):
    """A case refers to a difference that the compatibility page does not describe."""


def page() -> str:
    suites = [yaml.safe_load((SUITES / f"{name}.yaml").read_text(encoding="utf-8")) for name in ordered()]
    anchors = dict(described())
    cases = [case for suite in suites for case in suite["cases"]]
    same = sum("differs" not in case for case in cases)
    parts = [_INTRODUCTION.format(total=len(cases), same=same)]
    return "\n".join([*parts, *(_section(suite, anchors) for suite in suites)])


def ordered() -> list[str]:
    """The names of all suites; new ones are at the end."""
    names = {path.stem for path in SUITES.glob("*.yaml")}
    return [*(name for name in ORDER if name in names), *sorted(names - set(ORDER))]


def described() -> Iterator[tuple[str, str]]:
    """The title of every difference with the anchor of its section."""
    anchor = ""
    for line in DIFFERENCES.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            anchor = re.sub(r"[^a-z0-9]+", "-", line[3:].lower()).strip("-")
        elif found := re.match(r"\*\*(.+?)\.?\*\*", line):
            yield found[1], anchor


def _section(suite: dict[str, Any], anchors: dict[str, str]) -> str:
    rows = [_row(case, anchors) for case in suite["cases"]]
    files = sorted({suite["configuration"], *(case.get("configuration", "") for case in suite["cases"])} - {""})
    used = ", ".join(f"`{name}.conf`" for name in files)
    head = [
        f"## {suite['title']}",
        "",
        f"Configuration: {used}.",
        "",
        "| Situation | Volcano | Stromboli |",
        "|---|---|---|",
    ]
    return "\n".join([*head, *rows, ""])


def _row(case: dict[str, Any], anchors: dict[str, str]) -> str:
    title = case.get("differs", "")
    if title and title not in anchors:
        raise UnknownDifference(f"{case['name']}: {DIFFERENCES.name} has no difference {title!r}")
    ours = case.get("stromboli", "")
    last = f"{ours} [{title}](compatibility.md#{anchors[title]})" if title else "the same"
    return f"| {case['situation']} | {case['volcano']} | {last.strip()} |"


def main() -> None:
    if "--write" in sys.argv:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        print(page(), end="")


if __name__ == "__main__":
    main()
