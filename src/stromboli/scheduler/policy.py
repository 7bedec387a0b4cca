"""The active policy: a configuration file compiled into a program, and compiled again when the file changes.

An invalid file changes nothing: the last valid policy stays active, and the problem is reported until it is gone. The
file is checked by name periodically, which also detects how Kubernetes replaces the files of a ConfigMap. The standard
input (`-`) is read once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from stromboli.core.config.configuration import ConfigurationError, default_configuration, parse_configuration
from stromboli.core.config.external_services import ExternalServices
from stromboli.core.config.plugin import PluginFailure
from stromboli.core.config.registry import Registry
from stromboli.core.config.yaml_lines import MAXIMUM_BYTES
from stromboli.core.session.program import Program
from stromboli.kube.manifests.errors import path_problem

#: The path of the standard input.
STANDARD_INPUT = "-"


class PolicyError(ValueError):
    """No policy can be loaded at the start."""


class ActivePolicy:
    """The active policy and its file."""

    def __init__(
        self,
        registry: Registry,
        path: str = "",
        *,
        default: bool = True,
        outside: ExternalServices | None = None,
        report: Callable[[str], None] = lambda problem: None,
    ) -> None:
        self.registry = registry
        self._path = path
        #: Called after every attempt to read the file, with the problem or an empty text.
        self.report = report
        #: The identity of the file that was read last; None if it was missing.
        self._seen: tuple[int, ...] | None = ()
        #: The problem of the file as it is now; empty if it is valid.
        self.problem = ""
        self.text = ""
        #: Access to external services for plugins.
        self._outside = outside
        self.program = Program(default_configuration(registry), registry, outside)
        if path and not self.reload() and not default:
            raise PolicyError(self.problem)

    def close(self) -> None:
        """Close the connections to external services."""
        if self._outside is not None:
            self._outside.close()

    def force_reload(self) -> None:
        """Read the file at the next reload even if it looks unchanged."""
        if self._path != STANDARD_INPUT:
            self._seen = ()

    def reload(self) -> bool:
        """Read the file if it has changed; return whether another policy is active now."""
        if not self._path:
            return False
        seen = _identity(self._path)
        if seen == self._seen:
            return False
        self._seen = seen
        try:
            self._compile(_read(self._path))
        except (ConfigurationError, PluginFailure, OSError, ValueError) as error:
            self.problem = path_problem(self._path, error) if isinstance(error, OSError) else str(error)
            self.report(self.problem)
            return False
        self.problem = ""
        self.report("")
        return True

    def _compile(self, text: str) -> None:
        program = Program(parse_configuration(text, self.registry, self._path), self.registry, self._outside)
        self.program, self.text = program, text


def _identity(path: str) -> tuple[int, ...] | None:
    if path == STANDARD_INPUT:
        return (0,)
    try:
        facts = os.stat(path)
    except OSError:
        return None
    return facts.st_dev, facts.st_ino, facts.st_mtime_ns, facts.st_size


def _read(path: str) -> str:
    if path == STANDARD_INPUT:
        return sys.stdin.buffer.read(MAXIMUM_BYTES + 1).decode("utf-8", "surrogateescape")
    with Path(path).open("rb") as file:
        return file.read(MAXIMUM_BYTES + 1).decode("utf-8", "surrogateescape")
