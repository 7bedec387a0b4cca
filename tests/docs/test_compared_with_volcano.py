"""The page that compares with Volcano, case by case, and the differences to which it links."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.volcano.cases import Case, load_suite, suite_names

ROOT = Path(__file__).parents[2]
CASES = [(suite, case) for suite in suite_names() for case in load_suite(suite).cases]


def test_page_is_generated_from_the_present_cases() -> None:
    tool = ROOT / "tools" / "compared_with_volcano.py"
    printed = subprocess.run([sys.executable, str(tool)], check=True, capture_output=True, text=True).stdout
    stored = (ROOT / "docs" / "compared-with-volcano.md").read_text(encoding="utf-8")
    assert printed == stored, f"the page is stale; run {tool.relative_to(ROOT)} --write"


@pytest.mark.parametrize(("suite", "case"), CASES, ids=[f"{suite}/{case.name}" for suite, case in CASES])
def test_case_names_its_difference_and_expects_something(suite: str, case: Case) -> None:
    assert bool(case.stromboli) == bool(case.differs)
    assert any(step.expect or step.queues or step.types for step in case.steps)


def test_case_names_are_unique() -> None:
    names = [(suite, case.name) for suite, case in CASES]
    assert len(names) == len(set(names))


def differences() -> dict[str, str]:
    """The paragraphs about differences by their titles."""
    page = (ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8")
    paragraphs = re.split(r"\n\s*\n", page)
    return {found[1]: text for text in paragraphs if (found := re.match(r"\*\*(.+?)\.?\*\*", text))}


@pytest.mark.parametrize("title", differences())
def test_difference_has_its_noticeable_effect(title: str) -> None:
    assert "*What you will notice:*" in differences()[title]
