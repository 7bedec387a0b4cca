"""The arguments given to a plugin or action, checked against those it declares."""

import math
from collections.abc import Sequence

from stromboli.core.config.arguments import Argument, Arguments
from stromboli.core.config.configuration_errors import Findings
from stromboli.core.config.extension_points import SWITCHES
from stromboli.core.config.yaml_lines import Node


def read_arguments(node: Node | None, declared: Sequence[Argument], owner: str, findings: Findings) -> Arguments:
    """The arguments with defaults filled in. `owner` is who takes them, as in "plugin 'binpack'"."""
    if node is None or node.value is None:
        return Arguments(declared)
    if not isinstance(node.value, dict):
        findings.add(node.line, f"arguments of {owner} must be a mapping, not {node.described}")
        return Arguments(declared)
    accepted = {
        key: child.plain() for key, child in node.value.items() if _is_sound(key, child, declared, owner, findings)
    }
    return Arguments(declared, accepted)


def declaration_of(key: str, declared: Sequence[Argument]) -> Argument | None:
    """The declaration that a key belongs to: of exactly this key, or else of its beginning."""
    exact = (argument for argument in declared if argument.key == key)
    return next(exact, None) or next((a for a in declared if a.accepts_key(key)), None)


def reject_infinite(node: Node, owner: str, findings: Findings) -> bool:
    """Note every number inside that is not finite: it would win or lose every comparison. True if any is."""
    found = [n for n in node.walk() if isinstance(n.value, float) and not math.isfinite(n.value)]
    for child in found:
        findings.add(child.line, f"{owner}: expected a finite number, got {child.value}")
    return bool(found)


def _is_sound(key: str, node: Node, declared: Sequence[Argument], owner: str, findings: Findings) -> bool:
    """Whether one argument can be used. Notes what is wrong with it, or that it does nothing."""
    argument = declaration_of(key, declared)
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


def _reject_unknown(key: str, node: Node, declared: Sequence[Argument], owner: str, findings: Findings) -> None:
    if key in SWITCHES:
        findings.add(node.line, f"{key!r} is a switch of {owner}, not an argument; put it beside 'name'")
    elif not declared:
        findings.add(node.line, f"{owner} takes no arguments; remove {key!r}")
    else:
        findings.add_unknown(node.line, "argument", key, [argument.key for argument in declared], owner)
