"""Reads the arguments of a plugin or action and checks them against the declared ones.

As in Volcano, an unknown argument has no effect, an argument without a value has its default, and numbers and booleans
may be in quotes; a warning describes each. A value without a meaning is an error.
"""

import json
import math
from collections.abc import Mapping
from typing import Any, TypeVar

from stromboli.core.config.arguments import Arguments, ArgumentSpec, converted
from stromboli.core.config.configuration_errors import Findings
from stromboli.core.config.extension_points import SWITCHES
from stromboli.core.config.spelling import nearest
from stromboli.core.config.yaml_lines import YamlNode

Declared = TypeVar("Declared", bound=Arguments)

#: Both forms are common, and Volcano's metrics must be quoted: no warning.
_QUOTED_BOOLEANS = ("true", "false")


def read_arguments(node: YamlNode | None, declared: type[Declared], owner: str, findings: Findings) -> Declared:
    """Return the arguments with defaults filled in. `owner` names their owner, as in "plugin 'binpack'"."""
    if node is None or node.value is None:
        return declared()
    if not isinstance(node.value, dict):
        findings.add(node.line, f"arguments of {owner} must be a mapping, not {node.described}")
        return declared()
    values: dict[str, Any] = {}
    for key, child in node.value.items():
        argument = declared.declaration_of(key)
        if argument is None:
            _warn_of_unknown(key, child, declared, owner, findings)
        else:
            _read(argument, key, child, f"argument {key!r} of {owner}", values, findings)
    return declared(values)


def _read(
    argument: ArgumentSpec, key: str, node: YamlNode, title: str, values: dict[str, Any], findings: Findings
) -> None:
    """Add the value of one argument to `values` if it is valid. Records its error, or that it has no effect."""
    if argument.ignored:
        findings.warn(node.line, f"{title} has no effect: {argument.ignored}")
    if argument.entries is not None and isinstance(node.value, dict):
        values[key] = _entries(argument.entries, node.value, title, findings)
        return
    if argument.items is not None and isinstance(node.value, tuple):
        values[key] = _items(argument.items, node.value, title, findings)
        return
    written = node.plain()
    value = converted(written, argument.type)
    if value is None:
        findings.warn(node.line, f"{title} has no value and no effect")
        return
    fault = argument.fault(value)
    if fault:
        findings.add(node.line, f"{title}: {fault}")
        return
    if _has_infinite(node, title, findings):
        return
    if value is not written and written not in _QUOTED_BOOLEANS:
        findings.warn(node.line, f"{title}: {written!r} is read as {json.dumps(value)}")
    if argument.effective and value not in argument.effective:
        findings.warn(node.line, f"{title}: {value!r} has no effect; known are: {', '.join(argument.effective)}")
    values[key] = value


def _entries(
    declared: type[Arguments], fields: Mapping[str, YamlNode], title: str, findings: Findings
) -> dict[str, Any]:
    """Return the valid values of a mapping inside an argument."""
    values: dict[str, Any] = {}
    for key, node in fields.items():
        argument = declared.declaration_of(key)
        if argument is None:
            known = [each.key for each in declared.declared]
            meant = nearest(key, known)
            hint = f"did you mean {meant!r}?" if meant else f"there are: {', '.join(known)}."
            findings.warn(node.line, f"{title}: {key!r} is not known here; {hint} It has no effect.")
        else:
            _read(argument, key, node, f"{title}: {key}", values, findings)
    return values


def _items(
    declared: type[Arguments], nodes: tuple[YamlNode, ...], title: str, findings: Findings
) -> list[dict[str, Any]]:
    """Return the valid values of every mapping in a list."""
    values: list[dict[str, Any]] = []
    for number, node in enumerate(nodes, start=1):
        if isinstance(node.value, dict):
            values.append(_entries(declared, node.value, f"{title}: entry {number}", findings))
        else:
            findings.add(node.line, f"{title}: entry {number}: expected a mapping, got {node.described}")
    return values


def _has_infinite(node: YamlNode, title: str, findings: Findings) -> bool:
    """Record every number inside that is not finite: it would win or lose every comparison. True if there is any."""
    found = [n for n in node.walk() if isinstance(n.value, float) and not math.isfinite(n.value)]
    for child in found:
        findings.add(child.line, f"{title}: expected a finite number, got {child.value}")
    return bool(found)


def _warn_of_unknown(key: str, node: YamlNode, declared: type[Arguments], owner: str, findings: Findings) -> None:
    if key in SWITCHES:
        findings.warn(
            node.line, f"{key!r} has no effect: it is a switch of {owner}, not an argument; put it beside 'name'"
        )
    elif not declared.declared:
        findings.warn(node.line, f"{key!r} has no effect: {owner} takes no arguments")
    else:
        findings.warn_unknown(node.line, "argument", key, [argument.key for argument in declared.declared], owner)
