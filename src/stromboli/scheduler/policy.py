"""The policy in force: a configuration file compiled into a program, and compiled again when the file changes.

A file that cannot be used changes nothing: the last good policy stays, and the error is reported until it is fixed. The
file is looked at by name once in a while, which also sees how Kubernetes exchanges the files of a ConfigMap.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from stromboli.core.config.configuration import ConfigurationError, default_configuration, parse_configuration
from stromboli.core.config.external_services import ExternalServices
from stromboli.core.config.plugin import PluginFailure
from stromboli.core.config.registry import Registry
from stromboli.core.config.yaml_lines import MAXIMUM_BYTES
from stromboli.core.session.program import Program


class PolicyError(ValueError):
    """There is no policy to begin with; the message says why."""


class SchedulingPolicy:
    """The policy in force, and the file that it comes from."""

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
        #: Hears of every attempt to read the file: what is wrong with it, or nothing.
        self.report = report
        #: The file that was read last; None for one that was not there.
        self._seen: tuple[int, ...] | None = ()
        #: What is wrong with the file as it is now, in words; empty if nothing is.
        self.problem = ""
        self.text = ""
        #: Reaches services outside, for plugins that ask them.
        self._outside = outside
        self.program = Program(default_configuration(registry), registry, outside)
        if path and not self.reload() and not default:
            raise PolicyError(self.problem)

    def close(self) -> None:
        """Let go of services outside."""
        if self._outside is not None:
            self._outside.close()

    def force_reload(self) -> None:
        """Have the file read next time even if it looks the same."""
        self._seen = ()

    def reload(self) -> bool:
        """Read the file if it is not the one that was read last; whether another policy is in force now."""
        if not self._path:
            return False
        seen = _identity(self._path)
        if seen == self._seen:
            return False
        self._seen = seen
        try:
            self._compile(_read(self._path))
        except (ConfigurationError, PluginFailure, OSError, ValueError) as error:
            self.problem = str(error) if not isinstance(error, OSError) else f"{self._path}: {error.strerror}"
            self.report(self.problem)
            return False
        self.problem = ""
        self.report("")
        return True

    def _compile(self, text: str) -> None:
        program = Program(parse_configuration(text, self.registry, self._path), self.registry, self._outside)
        self.program, self.text = program, text


def _identity(path: str) -> tuple[int, ...] | None:
    try:
        facts = os.stat(path)
    except OSError:
        return None
    return facts.st_dev, facts.st_ino, facts.st_mtime_ns, facts.st_size


def _read(path: str) -> str:
    with Path(path).open("rb") as file:
        return file.read(MAXIMUM_BYTES + 1).decode("utf-8", "surrogateescape")
