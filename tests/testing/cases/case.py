"""A case: manifests and a configuration as input of `stromboli plan`, and one line with the expected result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cache
from typing import Any

from stromboli.core.actions import ACTIONS
from stromboli.core.config.action import Action
from stromboli.core.config.configuration import DEFAULT_TEXT, Configuration, parse_configuration
from stromboli.core.config.plugin import Plugin
from stromboli.core.config.registry import Registry
from stromboli.core.plugins import PLUGINS
from stromboli.core.session.program import Program
from stromboli.kube.manifests.yaml import dump_documents
from stromboli.kube.objects.kinds import KubeObject, Unknown, decode
from stromboli.planner.plan import SchedulingPlan, make_plan
from tests.testing.manifests.builders import Manifest

Extension = type[Plugin] | type[Action]
Tier = Sequence[str | Manifest]

BUILT_IN = Registry(PLUGINS, ACTIONS)


def extended(*extensions: Extension) -> Registry:
    """The built-in plugins and actions, and these."""
    registry = Registry(PLUGINS, ACTIONS)
    for extension in extensions:
        registry.add(extension)
    return registry


@cache
def _built_in_configuration(text: str) -> Configuration:
    return parse_configuration(text, BUILT_IN)


def _program(text: str, extensions: Sequence[Extension]) -> Program:
    if not extensions:
        return Program(_built_in_configuration(text), BUILT_IN)
    registry = extended(*extensions)
    return Program(parse_configuration(text, registry), registry)


SCHEDULER_NAMES = ("stromboli", "volcano")


def plugin(name: str, arguments: Mapping[str, object] | None = None, **switches: bool) -> Manifest:
    """A plugin as the configuration lists it, with switches such as `enableJobOrder=False`."""
    return {"name": name, **switches, **({"arguments": dict(arguments)} if arguments else {})}


def configuration(
    *tiers: str | Manifest | Tier,
    actions: str = "enqueue, allocate, backfill",
    arguments: Mapping[str, Mapping[str, object]] | None = None,
) -> str:
    """The text of a configuration. All plugins are in one tier, unless lists of plugins are passed: a tier each.

    `arguments` are those of actions, by the name of the action.
    """
    in_tiers = [list(tier) for tier in tiers if isinstance(tier, list | tuple)] or [list(tiers)]
    document: Manifest = {
        "actions": actions,
        "tiers": [{"plugins": [_entry(member) for member in tier]} for tier in in_tiers],
    }
    if arguments:
        document["configurations"] = [{"name": name, "arguments": dict(own)} for name, own in arguments.items()]
    return dump_documents([document])


def _entry(member: Any) -> Manifest:
    return {"name": member} if isinstance(member, str) else dict(member)


#: Nodes are filled one after the other, and gangs kept whole: nothing else matters.
PLAIN = configuration("gang", "predicates")
#: The default configuration.
STANDARD = DEFAULT_TEXT


def flattened(objects: Iterable[Any]) -> Iterator[Manifest]:
    for entry in objects:
        if isinstance(entry, dict):
            yield entry
        else:
            yield from flattened(entry)


class Case:
    """One case.

    `binds` has a letter for each pod that has no node yet, in the order of the objects: the node it is bound to,
    the same in capitals for a pod that is pipelined until others are gone, or `-`. Spaces are ignored. Of the other
    expectations those that are not None are compared, each as a whole; warnings always are.
    """

    def __init__(
        self,
        name: str,
        *objects: Any,
        binds: str,
        conf: str = PLAIN,
        cycles: int = 1,
        evicts: Sequence[str] = (),
        phases: Mapping[str, str] | None = None,
        reasons: Mapping[str, Sequence[str]] | None = None,
        codes: Mapping[str, Sequence[str]] | None = None,
        deserved: Mapping[str, Mapping[str, str]] | None = None,
        warnings: Sequence[str] = (),
        extensions: Sequence[Extension] = (),
    ) -> None:
        self.name = name
        self.manifests = list(flattened(objects))
        self.conf = conf
        self.cycles = cycles
        self.extensions = tuple(extensions)
        self.expected: dict[str, Any] = {
            "binds": binds.replace(" ", ""),
            "evicts": sorted(evicts),
            "warnings": list(warnings),
            "phases": phases,
            "reasons": reasons,
            "codes": codes,
            "deserved": deserved,
        }

    def __str__(self) -> str:
        return self.name

    def plan(self, conf: str | None = None) -> SchedulingPlan:
        """The plan, as `stromboli plan` makes it; with another configuration, if there is one."""
        program = _program(conf or self.conf, self.extensions)
        return make_plan(objects(self.manifests), program, cycles=self.cycles, scheduler_names=SCHEDULER_NAMES)

    def backwards(self) -> Case:
        """The same case with its objects in reverse order."""
        twin = copy(self)
        twin.manifests = self.manifests[::-1]
        return twin

    def binds(self, plan: SchedulingPlan) -> str:
        return "".join(_letter(plan, key_of(pod)) for pod in self.manifests if _is_unbound_pod(pod))

    def check(self) -> None:
        plan = self.plan()
        decided = {
            "binds": self.binds(plan),
            "evicts": sorted(key.partition("/")[2] for key in plan.evictions),
            "warnings": list(plan.warnings),
            "phases": _of_groups(plan, self.expected["phases"], "phase"),
            "reasons": _of_groups(plan, self.expected["reasons"], "reasons"),
            "codes": _of_groups(plan, self.expected["codes"], "codes"),
            "deserved": {name: plan.queues[name].deserved for name in self.expected["deserved"] or ()},
        }
        wrong = [what for what, expected in self.expected.items() if expected is not None and decided[what] != expected]
        lines = [f"{what}: expected {self.expected[what]!r}, got {decided[what]!r}" for what in wrong]
        assert not wrong, "\n".join((self.name, *lines, describe_plan(plan)))


def objects(manifests: Iterable[Manifest]) -> list[KubeObject]:
    decoded = [decode(each) for each in manifests]
    assert not [each for each in decoded if isinstance(each, Unknown)], "a case has an unknown kind"
    return decoded  # type: ignore[return-value]


def key_of(document: Manifest) -> str:
    metadata = document["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}"


def _is_unbound_pod(document: Manifest) -> bool:
    return document["kind"] == "Pod" and "nodeName" not in document["spec"]


def _letter(plan: SchedulingPlan, key: str) -> str:
    if key in plan.binds:
        return plan.binds[key]
    return plan.pipelined[key].upper() if key in plan.pipelined else "-"


def _of_groups(plan: SchedulingPlan, wanted: Mapping[str, Any] | None, fact: str) -> dict[str, Any]:
    """A fact of the named groups, by name; their namespace is `default` unless the name has one."""
    keys = {name: name if "/" in name else f"default/{name}" for name in wanted or ()}
    facts = {name: getattr(plan.groups[key], fact) if key in plan.groups else None for name, key in keys.items()}
    return {name: list(found) if isinstance(found, tuple) else found for name, found in facts.items()}


def describe_plan(plan: SchedulingPlan) -> str:
    """The decisions and the reasons of waiting jobs, for the message of a failed assertion."""
    lines = ["", "What was decided:"]
    lines += [f"  cycle {number}: {cycle}" for number, cycle in enumerate(plan.cycles, start=1)]
    for key, group in plan.groups.items():
        lines.append(f"  {key}: {group.phase}, {group.ready} of {group.min_member} ready, {group.reasons}")
    lines += [f"  warning: {warning}" for warning in plan.warnings]
    return "\n".join(lines)
