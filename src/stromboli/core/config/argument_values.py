"""Reads the arguments of a plugin or action and checks them against the declared ones."""

import math
from typing import TypeVar

from stromboli.core.config.arguments import Arguments
from stromboli.core.config.configuration_errors import Findings
from stromboli.core.config.extension_points import SWITCHES
from stromboli.core.config.yaml_lines import YamlNode

Declared = TypeVar("Declared", bound=Arguments)


def read_arguments(node: YamlNode | None, declared: type[Declared], owner: str, findings: Findings) -> Declared:
    """Return the arguments with defaults filled in. `owner` names their owner, as in "plugin 'binpack'"."""
    if node is None or node.value is None:
        return declared()
    if not isinstance(node.value, dict):
        findings.add(node.line, f"arguments of {owner} must be a mapping, not {node.described}")
        return declared()
    accepted = {
        key: child.plain() for key, child in node.value.items() if _is_sound(key, child, declared, owner, findings)
    }
    return declared(accepted)


def reject_infinite(node: YamlNode, owner: str, findings: Findings) -> bool:
    """Record every number inside that is not finite: it would win or lose every comparison. True if there is any."""
    found = [n for n in node.walk() if isinstance(n.value, float) and not math.isfinite(n.value)]
    for child in found:
        findings.add(child.line, f"{owner}: expected a finite number, got {child.value}")
    return bool(found)


def _is_sound(key: str, node: YamlNode, declared: type[Arguments], owner: str, findings: Findings) -> bool:
    """Report whether one argument is valid. Records its error, or that it has no effect."""
    argument = declared.declaration_of(key)
    if argument is None:
        _reject_unknown(key, node, declared, owner, findings)
        return False
    title = f"argument {key!r} of {owner}"
    if argument.ignored:
        findings.warn(node.line, f"{title} has no effect: {argument.ignored}")
    fault = "it has no value" if node.value is None else argument.fault(node.plain())
    if fault:
        findings.add(node.line, f"{title}: {fault}")
        return False
    return not reject_infinite(node, title, findings)


def _reject_unknown(key: str, node: YamlNode, declared: type[Arguments], owner: str, findings: Findings) -> None:
    if key in SWITCHES:
        findings.add(node.line, f"{key!r} is a switch of {owner}, not an argument; put it beside 'name'")
    elif not declared.declared:
        findings.add(node.line, f"{owner} takes no arguments; remove {key!r}")
    else:
        findings.add_unknown(node.line, "argument", key, [argument.key for argument in declared.declared], owner)
