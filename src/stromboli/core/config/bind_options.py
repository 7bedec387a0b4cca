"""The key `bind` of a configuration: who binds pods, and how long whoever does may try."""

from __future__ import annotations

from dataclasses import dataclass

from stromboli.core.config.argument_values import read_arguments
from stromboli.core.config.arguments import Argument
from stromboli.core.config.configuration_errors import Findings
from stromboli.core.config.yaml_lines import Node

#: The scheduler binds pods itself, or writes down what it decided for a binder to carry out.
DIRECT, REQUEST = "direct", "request"
MODES = (DIRECT, REQUEST)

DECLARED = (
    Argument("mode", str, "", "Who binds pods: the scheduler itself, or a binder.", choices=MODES),
    Argument("deadlineSeconds", int, 120, "How long a binder may try to carry out a decision.", minimum=1),
    Argument("backoffLimit", int, 6, "How many attempts may fail before it is given up.", minimum=0),
)


@dataclass(frozen=True, slots=True)
class BindOptions:
    """`mode` is empty where the file does not say it."""

    mode: str = ""
    deadline_seconds: int = 120
    backoff_limit: int = 6


def read_bind(node: Node | None, findings: Findings) -> BindOptions:
    if node is None or node.value is None:
        return BindOptions()
    if not isinstance(node.value, dict):
        findings.add(node.line, f"bind must be a mapping, not {node.described}")
        return BindOptions()
    given = read_arguments(node, DECLARED, "bind", findings)
    return BindOptions(given["mode"], given["deadlineSeconds"], given["backoffLimit"])
