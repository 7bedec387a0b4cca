"""The registered plugins and actions by name.

User code is registered by an entry point of an installed package or by an option of the process, never by a
configuration file that others may write. A class is checked on registration: a misspelt extension point, a wrong
signature or a missing name is rejected.
"""

from collections.abc import Iterable
from functools import reduce
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar

from stromboli.core.config.action import Action
from stromboli.core.config.plugin import Plugin
from stromboli.core.config.registration_checks import faults_of
from stromboli.core.config.spelling import nearest

PLUGIN_ENTRY_POINTS = "stromboli.plugins"
ACTION_ENTRY_POINTS = "stromboli.actions"

Member = TypeVar("Member", type[Plugin], type[Action])


class RegistrationError(ValueError):
    """An invalid plugin or action; the message describes the problem."""


class Registry:
    """Every plugin and action that a configuration may name."""

    def __init__(self, plugins: Iterable[type[Plugin]] = (), actions: Iterable[type[Action]] = ()) -> None:
        self.plugins: dict[str, type[Plugin]] = {}
        self.actions: dict[str, type[Action]] = {}
        for candidate in (*plugins, *actions):
            self.add(candidate)

    def add(self, candidate: object) -> None:
        """Register a plugin or action class. Raises RegistrationError with all problems."""
        if isinstance(candidate, type) and issubclass(candidate, Plugin):
            _reject_faults(candidate, Plugin)
            _add_unique(self.plugins, candidate)
        elif isinstance(candidate, type) and issubclass(candidate, Action):
            _reject_faults(candidate, Action)
            _add_unique(self.actions, candidate)
        else:
            raise RegistrationError(f"{candidate!r} is neither a Plugin nor an Action; derive a class from one of them")


def load_entry_points(registry: Registry) -> None:
    """Register the plugins and actions of all installed packages. An error names the package."""
    for group, base in ((PLUGIN_ENTRY_POINTS, Plugin), (ACTION_ENTRY_POINTS, Action)):
        for entry_point in sorted(entry_points(group=group), key=_entry_point_order):
            try:
                _add_loaded(registry, entry_point.load(), base)
            except Exception as error:
                raise RegistrationError(
                    f"{_entry_point_title(entry_point)} cannot be used: {_words(error)}; "
                    "correct, reinstall or uninstall the package"
                ) from error


def load_named(registry: Registry, reference: str) -> None:
    """Register the class that a reference `package.module:Class` points to."""
    module_name, _, path = reference.partition(":")
    if not module_name or not path:
        raise RegistrationError(f"{reference!r} does not name a class; write package.module:Class")
    module = _import(module_name, reference)
    try:
        candidate: object = reduce(getattr, path.split("."), module)
    except AttributeError:
        meant = nearest(path, vars(module))
        hint = f"did you mean {meant!r}?" if meant else "look for the name of the class there"
        raise RegistrationError(f"{reference}: module {module_name!r} has no {path!r}; {hint}") from None
    try:
        registry.add(candidate)
    except RegistrationError as error:
        raise RegistrationError(f"{reference} cannot be used: {error}") from None


def _import(module_name: str, reference: str) -> object:
    """Import a module; this runs its code, so any exception is possible."""
    try:
        return import_module(module_name)
    except ImportError as error:
        remedy = "is its package installed where stromboli runs?"
        raise RegistrationError(f"{reference}: cannot import {module_name!r}: {error}; {remedy}") from error
    except Exception as error:
        raise RegistrationError(
            f"{reference}: importing {module_name!r} failed: {_words(error)}; correct the module"
        ) from error


def _add_loaded(registry: Registry, candidate: object, base: type) -> None:
    """Register a loaded class if it is of the kind that the entry point's group requires."""
    if isinstance(candidate, type) and issubclass(candidate, (Plugin, Action)) and not issubclass(candidate, base):
        raise RegistrationError(f"{_title(candidate)} is no {base.__name__}; move it to the other group")
    registry.add(candidate)


def _entry_point_order(entry_point: EntryPoint) -> tuple[str, str]:
    """Sort packages, which are found in the order of the file system, so that errors are reproducible."""
    return entry_point.name, entry_point.value


def _entry_point_title(entry_point: EntryPoint) -> str:
    package = f"package {entry_point.dist.name!r}" if entry_point.dist else "an installed package"
    return f"entry point {entry_point.name!r} ({entry_point.value}) in group {entry_point.group!r} of {package}"


def _reject_faults(candidate: type[Plugin] | type[Action], base: type[Plugin] | type[Action]) -> None:
    faults = [f"{_title(candidate)}: {fault}" for fault in faults_of(candidate, base)]
    if faults:
        raise RegistrationError("\n".join(faults))


def _add_unique(known: dict[str, Member], candidate: Member) -> None:
    other = known.get(candidate.name)
    if other is not None and other is not candidate:
        raise RegistrationError(
            f"{_title(candidate)}: the name {candidate.name!r} is taken by "
            f"{other.__module__}.{other.__qualname__}; choose another"
        )
    known[candidate.name] = candidate


def _title(candidate: type) -> str:
    return candidate.__qualname__.rpartition(".<locals>.")[2]


def _words(error: Exception) -> str:
    """Return the message of an error, with its type unless it is a RegistrationError."""
    return str(error) if isinstance(error, RegistrationError) else f"{type(error).__name__}: {error}"
