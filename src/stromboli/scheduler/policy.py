"""The active policy: a configuration file compiled into a program, and compiled again when the file changes.

Without a file the default applies. A file that is invalid at the start is an error: production must not run by another
policy than its own. Later an invalid file changes nothing: the last valid policy stays active, and the problem is
reported until it is gone. Warnings of a valid file are reported as well.

The file is checked by name periodically, which also detects how Kubernetes replaces the files of a ConfigMap. The
standard input (`-`) is read once.
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
        outside: ExternalServices | None = None,
        report: Callable[[ActivePolicy], None] = lambda policy: None,
    ) -> None:
        self.registry = registry
        self._path = path
        #: Called after every attempt to read the file, except for a failure at the start.
        self.report = report
        #: The identity of the file that was read last; None if it was missing.
        self._seen: tuple[int, ...] | None = ()
        #: The problem of the file as it is now; empty if it is valid.
        self.problem = ""
        self.text = ""
        #: Access to external services for plugins.
        self._outside = outside
        if not path:
            self.program = Program(default_configuration(registry), registry, outside)
        elif not self._load():
            raise PolicyError(self.problem)
        else:
            report(self)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of the active policy."""
        return self.program.configuration.warnings

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
        if not self._path or _identity(self._path) == self._seen:
            return False
        loaded = self._load()
        self.report(self)
        return loaded

    def _load(self) -> bool:
        """Read and compile the file; otherwise note its problem."""
        self._seen = _identity(self._path)
        try:
            self._compile(_read(self._path))
        except (ConfigurationError, PluginFailure, OSError, ValueError) as error:
            self.problem = path_problem(self._path, error) if isinstance(error, OSError) else str(error)
            return False
        self.problem = ""
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
