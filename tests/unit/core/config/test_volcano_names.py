"""Every action, plugin and argument that Volcano has is known here by its name."""

from __future__ import annotations

from pathlib import Path

from stromboli.core.config.configuration import Configuration, parse_configuration
from stromboli.core.session.program import Program
from tests.testing.cases.case import BUILT_IN

EVERYTHING = Path(__file__).with_name("volcano_everything.conf")
ACTIONS = "enqueue allocate backfill preempt reclaim shuffle gangpreempt gangreclaim"
PLUGINS = """
    gang priority conformance overcommit proportion capacity drf predicates nodeorder binpack resource-strategy-fit sla
    tdm nodegroup numa-aware deviceshare network-topology-aware task-topology rescheduling usage pdb cdp resourcequota
    extender
"""


def everything() -> Configuration:
    return parse_configuration(EVERYTHING.read_text(), BUILT_IN)


def test_file_with_all_names_of_volcano_is_read() -> None:
    configuration = everything()
    named = {entry.name for tier in configuration.tiers for entry in tier.plugins}
    assert configuration.actions == tuple(ACTIONS.split())
    assert named | {"capacity"} == set(PLUGINS.split()), "of capacity and proportion the first counts"


def test_program_of_that_file_is_built() -> None:
    assert len(Program(everything(), BUILT_IN).plugins) == len(PLUGINS.split()) - 1
