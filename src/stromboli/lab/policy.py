"""A policy that other processes can load: the text of a configuration, and references to plugins that it names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from stromboli.core.config.configuration import default_configuration, parse_configuration
from stromboli.core.config.registry import Registry
from stromboli.core.session.program import Program

#: A function on module level, which other processes import by its name.
RegistryFactory = Callable[[Sequence[str]], Registry]


@dataclass(frozen=True, slots=True)
class PolicySource:
    label: str
    #: The configuration; None is the default configuration.
    text: str | None
    registry: RegistryFactory
    #: References `package.module:Class`.
    plugins: tuple[str, ...] = ()

    def program(self) -> Program:
        """Raises ConfigurationError, RegistrationError and PluginFailure."""
        registry = self.registry(self.plugins)
        if self.text is None:
            return Program(default_configuration(registry), registry)
        return Program(parse_configuration(self.text, registry, self.label), registry)
