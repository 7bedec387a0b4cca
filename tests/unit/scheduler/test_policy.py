"""The policy file at the start and on a reload: what is accepted, what stops the start, and what is reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from stromboli.core.actions import ACTIONS
from stromboli.core.config.registry import Registry
from stromboli.core.plugins import PLUGINS
from stromboli.scheduler.policy import ActivePolicy, PolicyError
from tests.testing.cases.case import configuration, plugin

REGISTRY = Registry(PLUGINS, ACTIONS)
VALID = configuration("priority", "gang", "predicates")
#: By case, a file and a part of the error.
USELESS = {
    "empty file": ("", "the configuration is empty"),
    "no YAML": ("actions: 'allocate\ntiers:", "policy.conf:2: not readable as YAML"),
    "a list": ("[1, 2]", "policy.conf:1: expected a mapping with actions and tiers"),
    "no actions": ("tiers: []", "the key 'actions' is missing"),
    "unknown action": (VALID.replace("allocate", "alocate"), "unknown action 'alocate'; did you mean 'allocate'?"),
    "unknown plugin": (configuration("gnag"), "unknown plugin 'gnag'; did you mean 'gang'?"),
    "value without meaning": (configuration(plugin("binpack", {"binpack.weight": "heavy"})), "expected a whole number"),
    "value out of range": (configuration(plugin("usage", {"usage.weight": -1})), "expected at least"),
}


def read(path: Path, reported: list[tuple[str, tuple[str, ...]]]) -> ActivePolicy:
    return ActivePolicy(REGISTRY, str(path), report=lambda policy: reported.append((policy.problem, policy.warnings)))


@pytest.mark.parametrize(("text", "message"), USELESS.values(), ids=USELESS)
def test_useless_file_stops_the_start_and_reports_no_last_valid_one(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "policy.conf"
    file.write_text(text)
    reported: list[tuple[str, tuple[str, ...]]] = []
    with pytest.raises(PolicyError) as stopped:
        read(file, reported)
    assert message in str(stopped.value)
    assert reported == []


def test_missing_file_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r'the path ".*policy\.conf" does not exist'):
        read(tmp_path / "policy.conf", [])


@pytest.mark.parametrize(("text", "message"), USELESS.values(), ids=USELESS)
def test_useless_file_on_a_reload_keeps_the_last_valid_one(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "policy.conf"
    file.write_text(VALID)
    reported: list[tuple[str, tuple[str, ...]]] = []
    policy = read(file, reported)
    program = policy.program
    file.write_text(text)
    assert (policy.reload(), policy.program is program) == (False, True)
    assert [problem != "" for problem, _ in reported] == [False, True]
    assert message in policy.problem
    assert (policy.reload(), len(reported)) == (False, 2), "an unchanged file is not read again"


def test_warnings_of_a_valid_file_are_reported_until_they_are_gone(tmp_path: Path) -> None:
    file = tmp_path / "policy.conf"
    file.write_text(configuration(plugin("binpack", {"binpack.weight": "10", "zone": 1})))
    reported: list[tuple[str, tuple[str, ...]]] = []
    policy = read(file, reported)
    assert [(problem, len(warnings)) for problem, warnings in reported] == [("", 2)]
    file.write_text(VALID)
    assert policy.reload()
    assert reported[1:] == [("", ())]
