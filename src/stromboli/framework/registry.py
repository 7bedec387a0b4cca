"""Names of plugins and actions, and the classes behind them.

User code joins by an entry point of an installed package or by a flag of the process, never from a configuration file. A class is
checked when it joins: a misspelt question, a wrong signature or a missing name is refused with a sentence.
"""

import inspect
from collections.abc import Iterable

from stromboli.framework.action import Action
from stromboli.framework.plugin import Plugin

PLUGIN_ENTRY_POINTS = "stromboli.plugins"
ACTION_ENTRY_POINTS = "stromboli.actions"


class RegistrationError(ValueError):
    """A plugin or action that cannot be used, with the reason in words."""


class Registry:
    """Every plugin and action that a configuration may name."""

    def __init__(self, plugins: Iterable[type[Plugin]] = (), actions: Iterable[type[Action]] = ()) -> None:
        self.plugins: dict[str, type[Plugin]] = {}
        self.actions: dict[str, type[Action]] = {}
        for plugin in plugins:
            self.add(plugin)
        for action in actions:
            self.add(action)

    def add(self, candidate: object) -> None:
        """Admit a plugin or action class. Raises RegistrationError with what is wrong."""
        if isinstance(candidate, type) and issubclass(candidate, Plugin):
            _check(candidate, Plugin)
            self._add_unique(self.plugins, candidate)
        elif isinstance(candidate, type) and issubclass(candidate, Action):
            _check(candidate, Action)
            self._add_unique(self.actions, candidate)
        else:
            raise RegistrationError(f"{candidate!r} is neither a Plugin nor an Action class")

    @staticmethod
    def _add_unique[T: type[Plugin] | type[Action]](known: dict[str, T], candidate: T) -> None:
        other = known.get(candidate.name)
        if other is not None and other is not candidate:
            where = f"{other.__module__}.{other.__qualname__}"
            raise RegistrationError(f"{_title(candidate)}: the name {candidate.name!r} is taken by {where}")
        known[candidate.name] = candidate
