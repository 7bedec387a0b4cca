"""What Volcano accepts is accepted: each case has one warning with its line, and the resulting setting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from stromboli.core.actions import ACTIONS
from stromboli.core.config.arguments import converted
from stromboli.core.config.configuration import (
    DEFAULT_TEXT,
    Configuration,
    ConfigurationError,
    PluginOption,
    parse_configuration,
)
from stromboli.core.config.configuration_errors import MAX_PROBLEMS
from stromboli.core.config.registry import Registry
from stromboli.core.plugins import PLUGINS
from tests.unit.core.config.sample_configuration import one_plugin, parse

TIERS = "\ntiers: [plugins: [name: gang]]"
Setting = Callable[[Configuration], Any]


def options(configuration: Configuration) -> list[PluginOption]:
    return [option for tier in configuration.tiers for option in tier.plugins]


def only(configuration: Configuration) -> PluginOption:
    [option] = options(configuration)
    return option


def arguments(configuration: Configuration) -> Any:
    return only(configuration).arguments.configured


def switches(configuration: Configuration) -> Any:
    return only(configuration).switches


def names(configuration: Configuration) -> list[list[str]]:
    return [[option.name for option in tier.plugins] for tier in configuration.tiers]


def binpack(key: str, value: str) -> str:
    return one_plugin(f"- name: binpack\n  arguments:\n    {key}: {value}")


def gang_switch(value: str) -> str:
    return one_plugin(f"- name: gang\n  enablePreemptable: {value}")


OF_BINPACK = "argument 'binpack.weight' of plugin 'binpack'"
ACCEPTED: dict[str, tuple[str, int, str, Setting, Any]] = {
    # values in another type
    "quoted number": (binpack("binpack.weight", "'10'"), 6, f"{OF_BINPACK}: '10' is read as 10",
                      arguments, {"binpack.weight": 10}),
    "quoted number with blanks": (binpack("binpack.weight", "' 7 '"), 6, f"{OF_BINPACK}: ' 7 ' is read as 7",
                                  arguments, {"binpack.weight": 7}),
    "whole number with a point": (binpack("binpack.weight", "3.0"), 6, f"{OF_BINPACK}: 3.0 is read as 3",
                                  arguments, {"binpack.weight": 3}),
    "quoted fraction": (binpack("binpack.cpu", "'0.5'"), 6, "'0.5' is read as 0.5", arguments, {"binpack.cpu": 0.5}),
    "quoted number of a prefix": (binpack("binpack.resources.gpu", "'2'"), 6, "'2' is read as 2",
                                  arguments, {"binpack.resources.gpu": 2}),
    "number instead of a text": (binpack("binpack.resources", "5"), 6, 'is read as "5"',
                                 arguments, {"binpack.resources": "5"}),
    "boolean 'True'": (one_plugin("- name: predicates\n  arguments:\n    predicate.NodePortsEnable: 'True'"), 6,
                       "'True' is read as true", arguments, {"predicate.NodePortsEnable": True}),
    "boolean '0'": (one_plugin("- name: predicates\n  arguments:\n    predicate.NodePortsEnable: '0'"), 6,
                    "'0' is read as false", arguments, {"predicate.NodePortsEnable": False}),
    "quoted switch": (gang_switch("'false'"), 5, "'enablePreemptable' of plugin 'gang': 'false' is read as false",
                      switches, {"enablePreemptable": False}),
    "switch '1'": (gang_switch("'1'"), 5, "'1' is read as true", switches, {"enablePreemptable": True}),
    "switch without a value": (gang_switch(""), 5, "'enablePreemptable' of plugin 'gang' has no value and no effect",
                               switches, {}),
    # unknown names
    "misspelt argument": (binpack("binpack.wieght", "3"), 6,
                          "unknown argument 'binpack.wieght' of plugin 'binpack'; did you mean 'binpack.weight'? It",
                          arguments, {}),
    "argument of another version": (binpack("zone-score", "3"), 6,
                                    "binpack.resources.<name>, binpack.weight. It has no effect.", arguments, {}),
    "argument of a plugin without": (one_plugin("- name: conformance\n  arguments: {a: 1}"), 5,
                                     "'a' has no effect: plugin 'conformance' takes no arguments", arguments, {}),
    "argument beside the name": (one_plugin("- name: binpack\n  binpack.weight: 3"), 5,
                                 "'binpack.weight' has no effect here: it is an argument of plugin 'binpack'; put",
                                 arguments, {}),
    "switch among the arguments": (one_plugin("- name: gang\n  arguments: {enablePreemptable: false}"), 5,
                                   "'enablePreemptable' has no effect: it is a switch of plugin 'gang'", switches, {}),
    "misspelt switch": (one_plugin("- name: gang\n  enablePremptable: false"), 5,
                        "unknown key 'enablePremptable' of plugin 'gang'; did you mean 'enablePreemptable'?",
                        switches, {}),
    "two spellings, that of Volcano first": (
        one_plugin("- name: gang\n  enableJobOrder: true\n  enabledJobOrder: false"), 6,
        "'enabledJobOrder' of plugin 'gang' is set in two spellings with different values; 'enableJobOrder' applies",
        switches, {"enableJobOrder": True}),
    "two spellings, that of Volcano last": (
        one_plugin("- name: gang\n  enabledJobOrder: true\n  enableJobOrder: false"), 6,
        "'enableJobOrder' of plugin 'gang' is set in two spellings with different values; 'enableJobOrder' applies",
        switches, {"enableJobOrder": False}),
    "argument without a value": (binpack("binpack.weight", ""), 6, f"{OF_BINPACK} has no value and no effect",
                                 arguments, {}),
    # tiers
    "no tiers": ("actions: allocate", 1, "no tiers: no plugin runs", names, []),
    "tiers of nothing": ("actions: allocate\ntiers:", 2, "no tiers: no plugin runs", names, []),
    "tiers empty": ("actions: allocate\ntiers: []", 2, "no tiers: no plugin runs", names, []),
    "former plugin": (one_plugin("- name: gang\n- name: reservation"), 5,
                      "plugin 'reservation' has no effect: Volcano has it no longer", names, [["gang"]]),
    "unknown key": (f"actions: allocate{TIERS}\ntier: []", 3, "unknown key 'tier'; did you mean 'tiers'?",
                    names, [["gang"]]),
    "merged unknown key": (f"actions: allocate{TIERS}\n<<: {{tier: 1}}", 3, "unknown key 'tier'", names, [["gang"]]),
    "unknown key of a tier": ("actions: allocate\ntiers:\n- plugin: []\n  plugins: [name: gang]", 3,
                              "unknown key 'plugin' of a tier; did you mean 'plugins'?", names, [["gang"]]),
    "unknown key of bind": (f"actions: allocate{TIERS}\nbind: {{backofLimit: 1}}", 3, "did you mean 'backoffLimit'?",
                            lambda c: c.bind.backoff_limit, 6),
    "unknown key of metrics": (f"actions: allocate{TIERS}\nmetrics:\n  address: http://c\n  tls: {{skip: true}}", 5,
                               "unknown argument 'tls.skip' of metrics", lambda c: c.metrics and c.metrics.address, "http://c"),
    # configurations of actions
    "unknown action configured": (f"actions: allocate{TIERS}\nconfigurations:\n- name: premept", 4,
                                  "unknown action 'premept'; did you mean 'preempt'?", names, [["gang"]]),
    "unknown argument of an action": (
        f"actions: preempt{TIERS}\nconfigurations:\n- name: preempt\n  arguments:\n    minCandidateNodes: 3", 6,
        "unknown argument 'minCandidateNodes' of action 'preempt'; did you mean 'minCandidateNodesPercentage'?",
        lambda c: c.arguments_of("preempt").configured, {}),
    "unknown key of a configuration": (
        f"actions: preempt{TIERS}\nconfigurations:\n- name: preempt\n  argument: {{}}", 5,
        "unknown key 'argument' of a configuration; did you mean 'arguments'?", names, [["gang"]]),
    "action configured twice": (
        f"actions: preempt{TIERS}\nconfigurations:\n- name: preempt\n  arguments: {{minCandidateNodesPercentage: 5}}\n"
        "- name: preempt", 6, "action 'preempt' is configured twice; the first applies",
        lambda c: c.arguments_of("preempt").configured, {"minCandidateNodesPercentage": 5}),
    # plugins
    "plugin twice": (one_plugin("- name: binpack\n- name: gang\n- name: binpack\n  arguments: {binpack.weight: 4}"), 6,
                     "plugin 'binpack' is listed twice (first in line 4); only the last entry applies",
                     lambda c: [(o.name, o.arguments.configured) for o in options(c)],
                     [("gang", {}), ("binpack", {"binpack.weight": 4})]),
    "plugin in two tiers": (one_plugin("- name: gang\n- name: drf") + "\n- plugins:\n  - name: gang", 7,
                            "plugin 'gang' is listed twice", names, [["drf"], ["gang"]]),
}  # fmt: skip


@pytest.mark.parametrize(("text", "line", "sentence", "setting", "expected"), ACCEPTED.values(), ids=ACCEPTED)
def test_file_is_accepted_with_one_warning(
    text: str, line: int, sentence: str, setting: Setting, expected: Any
) -> None:
    configuration = parse(text)
    [warning] = configuration.warnings
    assert warning.startswith(f"scheduler.conf:{line}: ")
    assert sentence in warning
    assert setting(configuration) == expected


NESTED = {
    "unknown key": ("usage", "thresholds: {memory: 50, cpu: 70}", "'memory' is not known here; did you mean 'mem'?"),
    "quoted number": (
        "usage",
        "thresholds: {cpu: '70'}",
        "argument 'thresholds' of plugin 'usage': cpu: '70' is read as",
    ),
    "no value": ("usage", "thresholds: {cpu: , mem: 50}", "cpu has no value and no effect"),
    "strategy of Volcano's documents": (
        "rescheduling",
        "strategies: [{name: offlineOnly}]",
        "entry 1: name: 'offlineOnly' has no effect; known are: lowNodeUtilization",
    ),
    "in a list": (
        "rescheduling",
        "strategies: [{name: lowNodeUtilization, params: {threshold: {}}}]",
        "entry 1: params: 'threshold' is not known here; did you mean 'thresholds'?",
    ),
}


@pytest.mark.parametrize(("plugin", "given", "sentence"), NESTED.values(), ids=NESTED)
def test_nested_arguments_are_as_lenient(plugin: str, given: str, sentence: str) -> None:
    text = one_plugin(f"- name: {plugin}\n  arguments:\n    {given}")
    configuration = parse_configuration(text, Registry(PLUGINS, ACTIONS), "scheduler.conf")
    [warning] = configuration.warnings
    assert warning.startswith("scheduler.conf:6: ")
    assert sentence in warning
    if "70" in given:
        assert only(configuration).arguments.thresholds.cpu == 70.0  # type: ignore[attr-defined]


INVALID_NESTED = [
    ("usage", "thresholds: {cpu: -1}", "cpu: expected at least 0, got -1"),
    ("rescheduling", "strategies: [3]", "entry 1: expected a mapping, got 3"),
]


@pytest.mark.parametrize(("plugin", "given", "sentence"), INVALID_NESTED)
def test_nested_value_without_meaning_is_an_error(plugin: str, given: str, sentence: str) -> None:
    text = one_plugin(f"- name: {plugin}\n  arguments:\n    {given}")
    with pytest.raises(ConfigurationError, match=sentence):
        parse_configuration(text, Registry(PLUGINS, ACTIONS))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", int), ("ten", int), ("1e3", int), ("0x10", int), ("9" * 40, int), ("nan", float), ("inf", float),
        ("yes", bool), ("2", bool), (1, bool), (1.5, int), (1e300, int), (True, int), (True, str), ("x", dict),
        (None, int), ([1], int),
    ],
)  # fmt: skip
def test_value_without_one_clear_meaning_is_left(value: object, expected: type) -> None:
    assert converted(value, expected) is value


def test_errors_carry_the_warnings_of_the_file() -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse("actions: alocate\nfoo: 1\ntiers: [plugins: [name: gang]]")
    assert [problem.line for problem in caught.value.problems] == [1]
    [warning] = caught.value.warnings
    assert warning.startswith("scheduler.conf:2: unknown key 'foo'")


def test_number_of_reported_warnings_is_limited() -> None:
    found = parse(DEFAULT_TEXT + "\n".join(f"actoins{number}: x" for number in range(2000))).warnings
    assert len(found) == MAX_PROBLEMS + 1
    assert found[-1].endswith(f"there is more from here on; only {MAX_PROBLEMS} are shown")
