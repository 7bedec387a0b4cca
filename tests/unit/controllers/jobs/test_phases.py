"""The table of phases."""

from __future__ import annotations

import pytest

from stromboli.controllers.jobs import phases
from stromboli.controllers.jobs.phases import PHASES, PodHandling

PLACES = [(phase, action) for phase, row in PHASES.items() for action in row.actions]


@pytest.mark.parametrize(("phase", "action"), PLACES)
def test_no_action_has_an_effect_in_the_phase_that_it_leads_to(phase: str, action: str) -> None:
    """A Command is executed once although it is deleted after the phase was written."""
    assert action not in PHASES[PHASES[phase].actions[action]].actions


@pytest.mark.parametrize("phase", [*phases.FINISHED, phases.COMPLETING, phases.TERMINATING])
def test_jobs_that_end_or_have_ended_start_no_more(phase: str) -> None:
    assert PHASES[phase] == (PodHandling.STOP, {})
