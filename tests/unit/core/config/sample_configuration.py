"""A registry of fake plugins and actions, and configurations that name them."""

import textwrap
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from stromboli.core.config.action import Action
from stromboli.core.config.arguments import Argument, Arguments, PrefixArgument
from stromboli.core.config.configuration import Configuration, ConfigurationError, parse_configuration
from stromboli.core.config.plugin import Plugin
from stromboli.core.config.registry import Registry


class BinpackArguments(Arguments):
    weight: int = Argument("binpack.weight", 1, "how much it counts", minimum=0)
    cpu: float = Argument("binpack.cpu", 1.0, "how much cpu counts", minimum=0)
    resources: str = Argument("binpack.resources", "", "further resources")
    resource_weights: Mapping[str, int] = PrefixArgument(
        "binpack.resources.<name>", 1, "how much a further resource counts"
    )


class PredicatesArguments(Arguments):
    node_ports: bool = Argument("predicate.NodePortsEnable", True, "whether host ports count")
    cache: bool = Argument("predicate.CacheEnable", False, "a cache", ignored="results are always cached")
    thresholds: Mapping[str, object] = Argument("thresholds", {}, "limits by resource")
    strategies: list[object] = Argument("strategies", [], "one after the other")


class PreemptArguments(Arguments):
    predicate_error_cache: bool = Argument("predicateErrorCacheEnable", True, "a cache")
    candidates_percentage: int = Argument("minCandidateNodesPercentage", 10, "how many nodes to look at")


PLUGINS: dict[str, Arguments] = {
    **dict.fromkeys(("priority", "gang", "conformance", "overcommit", "drf", "proportion", "nodeorder"), Arguments()),
    "binpack": BinpackArguments(),
    "predicates": PredicatesArguments(),
}
ACTIONS: dict[str, Arguments] = {
    **dict.fromkeys(("enqueue", "allocate", "backfill"), Arguments()),
    "preempt": PreemptArguments(),
}


def fakes(base: type, names: dict[str, Arguments]) -> list[type]:
    return [type(name, (base,), {"name": name, "arguments": arguments}) for name, arguments in names.items()]


REGISTRY = Registry(fakes(Plugin, PLUGINS), fakes(Action, ACTIONS))


def parse(text: str, source: str = "scheduler.conf") -> Configuration:
    return parse_configuration(textwrap.dedent(text), REGISTRY, source)


def complaints(text: str) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        parse(text)
    return str(caught.value).splitlines()


def one_plugin(entry: str) -> str:
    """A configuration whose fourth line begins this plugin entry."""
    return "actions: allocate\ntiers:\n- plugins:\n" + textwrap.indent(entry, "  ")


def config_map(data: dict[str, Any] | None) -> str:
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "scheduler"}, "data": data}
    return yaml.safe_dump(manifest)


#: As people write it.
COMPLETE = """\
    # every kind of setting
    actions: "enqueue, allocate,preempt , backfill"
    tiers:
    - plugins:
      - name: priority
      - name: gang
        enablePreemptable: false
        enabledJobOrder: off
    - plugins:
      - name: drf
        enableHierarchy: true
      - name: binpack
        arguments:
          binpack.weight: 10
          binpack.cpu: 5
          binpack.resources: nvidia.com/gpu, example.com/foo
          binpack.resources.nvidia.com/gpu: 2
      - name: predicates
        arguments:
          predicate.NodePortsEnable: "false"
          thresholds: {cpu: 80}
    configurations:
    - name: preempt
      arguments:
        minCandidateNodesPercentage: 20
    metrics: {type: prometheus, address: "http://metrics:9090", interval: 30s}
    """
