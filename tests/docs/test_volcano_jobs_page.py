"""The page about Volcano Jobs has the phases, actions, events and reasons of the controller."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stromboli.controllers.jobs.phases import PHASES
from stromboli.controllers.jobs.status import PROBLEMS
from stromboli.workloads.families.volcano.rules.policies import ACTIONS, EVENTS, WITHOUT_EFFECT

PAGE = (Path(__file__).parents[2] / "docs" / "volcano-jobs.md").read_text()


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the first table after a heading, without its head."""
    lines = PAGE[PAGE.index(f"## {heading}") :].splitlines()
    table = [line for line in lines if line.startswith("|")]
    size = next((number for number, line in enumerate(lines) if line.startswith("|")), 0)
    end = next((number for number, line in enumerate(lines[size:]) if not line.startswith("|")), 0)
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table[2:end]]


@pytest.mark.parametrize("phase", PHASES)
def test_phase_has_its_row(phase: str) -> None:
    row = PHASES[phase]
    actions = ", ".join(f"`{action}` → `{to}`" for action, to in sorted(row.actions.items())) or "none"
    assert [f"`{phase}`", row.pods.name.lower(), actions] in rows("Phases")


def test_table_has_no_other_phases() -> None:
    assert [row[0].strip("`") for row in rows("Phases")] == list(PHASES)


def test_all_events_and_actions_are_described() -> None:
    described = set(re.findall(r"^\| `([^`]+)` \|", PAGE, re.MULTILINE))
    assert {*EVENTS, *ACTIONS, *PROBLEMS} - {*WITHOUT_EFFECT} <= described
