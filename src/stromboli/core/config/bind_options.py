"""The key `bind` of a configuration: whether the scheduler or a binder binds pods, and the limits of the binder."""

from __future__ import annotations

from dataclasses import dataclass

from stromboli.core.config.argument_values import read_arguments
from stromboli.core.config.arguments import Argument, Arguments
from stromboli.core.config.configuration_errors import Findings
from stromboli.core.config.yaml_lines import YamlNode

#: The scheduler binds pods itself, or writes bind requests for a binder.
DIRECT, REQUEST = "direct", "request"
MODES = (DIRECT, REQUEST)


class BindArguments(Arguments):
    mode: str = Argument("mode", "", "Whether the scheduler or a binder binds pods.", choices=MODES)
    deadline_seconds: int = Argument("deadlineSeconds", 120, "The deadline of a bind request.", minimum=1)
    backoff_limit: int = Argument("backoffLimit", 6, "How many attempts may fail before it is rolled back.", minimum=0)


@dataclass(frozen=True, slots=True)
class BindOptions:
    """`mode` is empty if the file does not set it."""

    mode: str = ""
    deadline_seconds: int = 120
    backoff_limit: int = 6


def read_bind(node: YamlNode | None, findings: Findings) -> BindOptions:
    if node is None or node.value is None:
        return BindOptions()
    if not isinstance(node.value, dict):
        findings.add(node.line, f"bind must be a mapping, not {node.described}")
        return BindOptions()
    arguments = read_arguments(node, BindArguments, "bind", findings)
    return BindOptions(arguments.mode, arguments.deadline_seconds, arguments.backoff_limit)
