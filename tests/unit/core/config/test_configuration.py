"""The configuration file: what it means, in all the forms in which people keep it."""

import json
import textwrap
from typing import Any

import pytest
import yaml

from stromboli.core.config.arguments import Arguments
from stromboli.core.config.configuration import DEFAULT_TEXT, Configuration, PluginOption, default_configuration
from stromboli.core.config.extension_points import EXTENSION_POINTS, RETIRED_SWITCHES, SWITCHES
from tests.unit.core.config.sample_configuration import (
    COMPLETE,
    REGISTRY,
    BinpackArguments,
    PredicatesArguments,
    PreemptArguments,
    complaints,
    config_map,
    one_plugin,
    parse,
)

TIERS = "\ntiers: [plugins: [name: gang]]"


def option(configuration: Configuration, name: str) -> PluginOption:
    return next(o for tier in configuration.tiers for o in tier.plugins if o.name == name)


# -- what is understood -----------------------------------------------------------------------------------------


def test_complete_file_is_read() -> None:
    configuration = parse(COMPLETE)
    assert configuration.actions == ("enqueue", "allocate", "preempt", "backfill")
    assert [[o.name for o in tier.plugins] for tier in configuration.tiers] == [
        ["priority", "gang"],
        ["drf", "binpack", "predicates"],
    ]
    assert option(configuration, "gang").switches == {"enablePreemptable": False, "enableJobOrder": False}
    assert configuration.metrics is not None
    assert (configuration.metrics.type, configuration.metrics.address) == ("prometheus", "http://metrics:9090")
    assert configuration.metrics.interval == 30.0
    assert (configuration.source, configuration.warnings) == ("scheduler.conf", ())


@pytest.mark.parametrize("nested", [True, False])
def test_metrics_keys_may_be_nested_or_flat(nested: bool) -> None:
    tls = "tls: {insecureSkipVerify: 'true'}" if nested else "tls.insecureSkipVerify: 'true'"
    index = "elasticsearch: {index: mine}" if nested else "elasticsearch.index: mine"
    text = f"{DEFAULT_TEXT}metrics:\n  type: elasticsearch\n  address: https://search/\n  {tls}\n  {index}\n"
    configuration = parse(text)
    assert configuration.metrics is not None
    source = configuration.metrics
    assert (source.address, source.insecure, source.index) == ("https://search", True, "mine")
    assert (source.hostname_field, source.interval) == ("host.hostname", 30.0)
    [warning] = configuration.warnings
    assert "the server is not verified" in warning


def test_user_in_metrics_address_is_separated() -> None:
    configuration = parse(f"{DEFAULT_TEXT}metrics: {{address: 'https://me:open%20sesame@search:9200/path'}}")
    assert configuration.metrics is not None
    source = configuration.metrics
    assert (source.address, source.username, source.password) == ("https://search:9200/path", "me", "open sesame")
    [warning] = configuration.warnings
    assert "the password is readable in this file" in warning
    assert "sesame" not in warning


def test_older_name_of_adaptor_is_accepted() -> None:
    configuration = parse(f"{DEFAULT_TEXT}metrics: {{type: prometheus_adapt}}")
    assert configuration.metrics is not None
    assert configuration.metrics.type == "prometheus_adaptor"


def test_arguments_have_their_defaults_and_types() -> None:
    configuration = parse(COMPLETE)
    binpack = option(configuration, "binpack").arguments
    assert isinstance(binpack, BinpackArguments)
    assert (binpack.weight, binpack.cpu, binpack.resource_weights) == (10, 5.0, {"nvidia.com/gpu": 2})
    assert isinstance(binpack.cpu, float)
    predicates = option(configuration, "predicates").arguments
    assert isinstance(predicates, PredicatesArguments)
    assert (predicates.node_ports, predicates.thresholds, predicates.strategies) == (False, {"cpu": 80}, [])


def test_every_action_has_arguments() -> None:
    configuration = parse(COMPLETE)
    preempt = configuration.arguments_of("preempt")
    assert isinstance(preempt, PreemptArguments)
    assert (preempt.candidates_percentage, preempt.predicate_error_cache) == (20, True)
    assert configuration.arguments_of("allocate") == Arguments()


@pytest.mark.parametrize("actions", ["enqueue, allocate", "[enqueue, allocate]", '"enqueue,allocate"'])
def test_actions_as_text_or_list(actions: str) -> None:
    configuration = parse(f"actions: {actions}\ntiers: [plugins: [name: gang]]")
    assert configuration.actions == ("enqueue", "allocate")


def test_json_is_yaml() -> None:
    document = yaml.safe_load(textwrap.dedent(COMPLETE))
    assert parse(json.dumps(document)) == parse(COMPLETE)
    assert parse(json.dumps(document, indent=2)) == parse(COMPLETE)


SHARED = """\
actions: allocate
tiers:
- plugins:
  - &gang {name: gang, enablePreemptable: false}
- plugins:
  - {<<: *gang, name: drf}
  - {<<: [{name: priority}, *gang], enableJobOrder: false}
"""


def test_aliases_and_merge_keys_are_expanded() -> None:
    first, second = parse(SHARED).tiers
    switches = {option.name: dict(option.switches) for option in (*first.plugins, *second.plugins)}
    assert switches["gang"] == switches["drf"]
    assert switches["priority"] == {**switches["gang"], "enableJobOrder": False}


def test_action_may_run_twice() -> None:
    assert parse("actions: [allocate, backfill, allocate]\ntiers: [plugins: [name: gang]]").actions == (
        "allocate",
        "backfill",
        "allocate",
    )


def test_empty_arguments_and_configurations_are_none() -> None:
    configuration = parse(one_plugin("- name: gang\n  arguments:") + "\nconfigurations:\nmetrics:")
    assert (option(configuration, "gang").arguments, configuration.metrics) == (Arguments(), None)


def test_default_configuration() -> None:
    configuration = default_configuration(REGISTRY)
    assert configuration.actions == ("enqueue", "allocate", "backfill")
    assert [[o.name for o in tier.plugins] for tier in configuration.tiers] == [
        ["priority", "gang", "conformance"],
        ["overcommit", "drf", "predicates", "proportion", "nodeorder", "binpack"],
    ]
    off = [o.name for tier in configuration.tiers for o in tier.plugins if not o.is_on("preemptable")]
    assert (off, configuration.warnings) == (["gang", "drf"], ())


def test_missing_switch_is_on_except_hierarchy() -> None:
    gang = option(parse(one_plugin("- name: gang")), "gang")
    assert {switch for switch in SWITCHES.values() if not gang.is_on(switch)} == {"enableHierarchy"}
    assert all(gang.is_on(point.name) for point in EXTENSION_POINTS)


def test_switch_disables_all_its_extension_points() -> None:
    gang = option(parse(one_plugin("- name: gang\n  enablePredicate: false")), "gang")
    off = [point.name for point in EXTENSION_POINTS if not gang.is_on(point.name)]
    assert off == ["pre_predicate", "predicate"]


@pytest.mark.parametrize("switch", sorted(RETIRED_SWITCHES))
@pytest.mark.parametrize("value", ["true", "false"])
def test_switch_without_extension_point_is_accepted_with_a_warning(switch: str, value: str) -> None:
    configuration = parse(one_plugin(f"- name: gang\n  {switch}: {value}"))
    assert option(configuration, "gang").switches == {}
    expected = f"scheduler.conf:5: {switch!r} of plugin 'gang' has no effect: no action uses this extension point"
    assert configuration.warnings == (expected,)


@pytest.mark.parametrize(("spelling", "canonical"), sorted(SWITCHES.items()))
def test_both_spellings_of_every_switch(spelling: str, canonical: str) -> None:
    gang = option(parse(one_plugin(f"- name: gang\n  {spelling}: true")), "gang")
    assert gang.switches == {canonical: True}
    assert gang.is_on(spelling)


def test_both_spellings_with_one_value_are_one_switch() -> None:
    text = one_plugin("- name: gang\n  enableJobOrder: false\n  enabledJobOrder: false")
    assert option(parse(text), "gang").switches == {"enableJobOrder": False}


PLAIN_WORDS = [
    ("10:30", "10:30"),
    ("2024-01-01", "2024-01-01"),
    ("30s", "30s"),
    ("1e3", 1000.0),
    ("0x1F", 31),
    ("017", 15),
    ("08", "08"),
    ("1_000", 1000),
    (str(2**63), float(2**63)),
    ("9" * 5000, "9" * 5000),
    ("-.5", -0.5),
    ("yes", True),
    ("'yes'", "yes"),
    ("!!str 5", "5"),
    ("~", None),
    ("", None),
    ("=", "="),
    ("<<", "<<"),
]


@pytest.mark.parametrize(("word", "value"), PLAIN_WORDS, ids=[word[:20] for word, _ in PLAIN_WORDS])
def test_plain_scalars_are_read_as_kubernetes_does(word: str, value: object) -> None:
    text = one_plugin(f"- name: predicates\n  arguments:\n    thresholds:\n      key: {word}")
    assert option(parse(text), "predicates").arguments.configured["thresholds"] == {"key": value}


# -- in a ConfigMap ---------------------------------------------------------------------------------------------


CONFIG_MAPS = [
    ("the usual key", {"volcano-scheduler.conf": DEFAULT_TEXT}, "volcano-scheduler.conf"),
    ("another key", {"stromboli.conf": DEFAULT_TEXT, "notes": "x"}, "stromboli.conf"),
    ("the usual key among others", {"a.conf": "", "volcano-scheduler.conf": DEFAULT_TEXT}, "volcano-scheduler.conf"),
]


@pytest.mark.parametrize(("name", "data", "key"), CONFIG_MAPS, ids=[case[0] for case in CONFIG_MAPS])
def test_configuration_inside_config_map(name: str, data: dict[str, Any], key: str) -> None:
    configuration = parse(config_map(data), "map.yaml")
    assert configuration.source == f"map.yaml[{key}]"
    assert configuration.tiers == default_configuration(REGISTRY).tiers


NO_KEY = ":2: one key of the ConfigMap's data must end in '.conf', and "
BAD_CONFIG_MAPS = [
    ("no data", None, f"{NO_KEY}there is none"),
    ("no such key", {"notes": "x"}, f"{NO_KEY}there is none; name it volcano-scheduler.conf"),
    ("several keys", {"a.conf": "x", "b.conf": "y"}, f"{NO_KEY}there are a.conf, b.conf"),
    ("no text", {"a.conf": {"actions": "allocate"}}, ":3: a.conf must be a text, not a mapping; begin it with '|'"),
    ("empty", {"a.conf": ""}, "[a.conf]:1: the configuration is empty"),
    ("lines count inside", {"a.conf": DEFAULT_TEXT.replace("gang", "gnag")}, "[a.conf]:5: unknown plugin 'gnag'"),
    ("a map in a map", {"a.conf": config_map({"b.conf": DEFAULT_TEXT})}, "[a.conf]:1: the key 'actions' is missing"),
]


@pytest.mark.parametrize(("name", "data", "message"), BAD_CONFIG_MAPS, ids=[c[0] for c in BAD_CONFIG_MAPS])
def test_invalid_config_map_is_rejected(name: str, data: dict[str, Any] | None, message: str) -> None:
    assert any(line.startswith(f"scheduler.conf{message}") for line in complaints(config_map(data)))


def test_duplicate_key_in_manifest_is_rejected() -> None:
    assert complaints(config_map({"a.conf": DEFAULT_TEXT}) + "kind: ConfigMap\n") == [
        "scheduler.conf:10: key 'kind' is set twice (first in line 7); remove one"
    ]


# -- what is accepted with a word -------------------------------------------------------------------------------

WARNINGS = [
    (
        "an argument without effect",
        one_plugin("- name: predicates\n  arguments: {predicate.CacheEnable: true}"),
        "5: argument 'predicate.CacheEnable' of plugin 'predicates' has no effect: results are always cached",
    ),
    (
        "an action that is configured and not carried out",
        f"actions: allocate{TIERS}\nconfigurations:\n- name: preempt",
        "4: action 'preempt' is configured but not among the actions",
    ),
    (
        "a switch of former times",
        one_plugin("- name: drf\n  enableNamespaceOrder: true"),
        "5: 'enableNamespaceOrder' of plugin 'drf' has no effect: no action uses this extension point",
    ),
    (
        "two notions of a fair share",
        one_plugin("- name: proportion\n- name: drf\n  enableHierarchy: true"),
        "5: plugin 'drf' with enableHierarchy conflicts with plugin 'proportion' in the same tier (line 4): "
        "the first of them orders the queues; put them into different tiers",
    ),
    (
        "a tier without plugins",
        one_plugin("- name: gang") + "\n- plugins:",
        "5: the tier lists no plugins and has no effect",
    ),
]


@pytest.mark.parametrize(("name", "text", "warning"), WARNINGS, ids=[case[0] for case in WARNINGS])
def test_accepted_configuration_with_warning(name: str, text: str, warning: str) -> None:
    assert parse(text).warnings == (f"scheduler.conf:{warning}",)
