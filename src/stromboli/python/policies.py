"""Policies as Python objects: what the configuration file of the scheduler contains, and the classes that it names."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from stromboli.core.config.action import Action
from stromboli.core.config.configuration import DEFAULT_TEXT, parse_configuration
from stromboli.core.config.plugin import Plugin
from stromboli.core.config.registry import Registry
from stromboli.core.config.yaml_lines import MAXIMUM_BYTES
from stromboli.core.session.program import Program
from stromboli.lab.policy import PolicySource
from stromboli.python.html import code, heading
from stromboli.registry import built_in_registry

#: A plugin by its name or class, or an entry of the file: a mapping with `name`, `arguments` and switches.
PluginEntry = str | type[Plugin] | Mapping[str, Any]
ActionEntry = str | type[Action]
OwnClass = type[Plugin] | type[Action]


class SchedulingPolicy:
    """Actions and plugins with their arguments.

    `plugins` are those of one tier, `tiers` those of several. A plugin is its name, a subclass of
    `stromboli.api.Plugin`, or a mapping with `name` (either of both), `arguments`, and switches such as
    `enablePreemptable`. `arguments` are those of actions, by action.
    """

    def __init__(
        self,
        plugins: Sequence[PluginEntry] = (),
        *,
        tiers: Sequence[Sequence[PluginEntry]] = (),
        actions: Sequence[ActionEntry] = ("allocate", "backfill"),
        arguments: Mapping[str, Mapping[str, Any]] | None = None,
        name: str = "policy",
    ) -> None:
        """Raises ConfigurationError and RegistrationError."""
        if bool(plugins) == bool(tiers):
            raise TypeError("name either plugins, which are one tier, or tiers")
        if isinstance(plugins, str) or isinstance(actions, str):
            raise TypeError("plugins and actions are lists, such as plugins=['gang', 'predicates']")
        classes: dict[OwnClass, None] = {}
        content: dict[str, Any] = {
            "actions": ", ".join(_name(action, classes) for action in actions),
            "tiers": [
                {"plugins": [_entry(plugin, classes) for plugin in tier]} for tier in (tiers or (plugins,))
            ],
        }  # fmt: skip
        if arguments:
            content["configurations"] = [
                {"name": action, "arguments": _plain(values)} for action, values in arguments.items()
            ]
        self._set(name, yaml.safe_dump(content, sort_keys=False), tuple(classes))

    @classmethod
    def from_yaml(cls, text: str, *, classes: Iterable[OwnClass] = (), name: str = "policy") -> SchedulingPolicy:
        """Read the text of a configuration file; `classes` are your own plugins and actions that it names.

        Raises ConfigurationError and RegistrationError.
        """
        policy = cls.__new__(cls)
        policy._set(name, text, tuple(classes))
        return policy

    @classmethod
    def from_file(cls, path: str | Path, *, classes: Iterable[OwnClass] = (), name: str = "") -> SchedulingPolicy:
        """Read a configuration file. Raises OSError, ConfigurationError and RegistrationError."""
        with Path(path).open("rb") as file:
            text = file.read(MAXIMUM_BYTES + 1).decode("utf-8", "surrogateescape")
        return cls.from_yaml(text, classes=classes, name=name or Path(path).stem)

    @classmethod
    def default(cls) -> SchedulingPolicy:
        """Return the policy of a scheduler without a configuration file."""
        return cls.from_yaml(DEFAULT_TEXT, name="default")

    def _set(self, name: str, text: str, classes: tuple[OwnClass, ...]) -> None:
        self.name, self._text, self._classes = name, text, classes
        self.warnings = parse_configuration(text, self._registry(), name).warnings

    def to_yaml(self) -> str:
        """Return the configuration file, which the scheduler and all commands accept."""
        return self._text

    def program(self) -> Program:
        """Return the policy with new instances of its plugins, which belong to one run."""
        return self.source.program()

    @property
    def source(self) -> PolicySource:
        """Return what other processes load: references to classes of modules, and other classes themselves."""
        references = tuple(filter(None, map(_reference, self._classes)))
        own = tuple(each for each in self._classes if not _reference(each))
        registry = partial(registry_with, own) if own else built_in_registry
        return PolicySource(self.name, self._text, registry, references)

    @property
    def is_importable(self) -> bool:
        """Report whether other processes can load the policy: it has no class that only this one defines."""
        return all(map(_reference, self._classes))

    def _registry(self) -> Registry:
        return registry_with(self._classes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SchedulingPolicy) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[object, ...]:
        return self.name, self._text, self._classes

    def __repr__(self) -> str:
        return f"<Policy {self.name}>"

    def _repr_html_(self) -> str:
        return heading(f"Policy {self.name}") + code(self._text)


def registry_with(classes: Iterable[OwnClass], references: Sequence[str] = ()) -> Registry:
    """Return all plugins and actions, with further classes. Raises RegistrationError."""
    registry = built_in_registry(references)
    for each in classes:
        registry.add(each)
    return registry


def _entry(plugin: PluginEntry, classes: dict[OwnClass, None]) -> dict[str, Any]:
    if not isinstance(plugin, Mapping):
        return {"name": _name(plugin, classes)}
    if "name" not in plugin:
        raise TypeError(f"a plugin needs a name: {dict(plugin)!r}")
    entry = _plain(plugin)
    return {**entry, "name": _name(plugin["name"], classes)}


def _name(entry: object, classes: dict[OwnClass, None]) -> str:
    """Return the name of a plugin or action; a class is kept."""
    if isinstance(entry, str):
        return entry
    if isinstance(entry, type) and issubclass(entry, (Plugin, Action)):
        classes[entry] = None
        return str(getattr(entry, "name", entry.__name__))
    raise TypeError(f"{entry!r} is neither the name of a plugin or action nor a class of one")


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if not isinstance(value, type)}


def _reference(entry: OwnClass) -> str:
    """Return `package.module:Class` for a class that other processes can import; else nothing."""
    module: object = sys.modules.get(entry.__module__)
    if entry.__module__ == "__main__" or module is None or "<locals>" in entry.__qualname__:
        return ""
    found: object = module
    for name in entry.__qualname__.split("."):
        found = getattr(found, name, None)
    return f"{entry.__module__}:{entry.__qualname__}" if found is entry else ""
