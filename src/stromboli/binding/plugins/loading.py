"""Loads binder plugins: built-in ones, those of installed packages (entry points), and those named by an option.

As with scheduler plugins, a class is checked when it is loaded, and an invalid one is rejected with a message that
names it. Built-in plugins come first, then those of packages by name, then those of options.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

from stromboli.binding.plugins.plugin import BinderPlugin
from stromboli.binding.steps.claims import DynamicResourcesPlugin
from stromboli.binding.steps.gpu_sharing.plugin import GpuSharingPlugin
from stromboli.binding.steps.volumes.plugin import VolumesPlugin

ENTRY_POINTS = "stromboli.binder_plugins"
#: The plugins of every binder, in their order.
BUILT_IN: tuple[type[BinderPlugin], ...] = (VolumesPlugin, DynamicResourcesPlugin, GpuSharingPlugin)
#: Methods that a plugin may override, with whether they are asynchronous.
_METHODS = {
    "validate": False,
    "mutate": False,
    "open": False,
    "applies_to": False,
    "forget": False,
    "changed": False,
    "pre_bind": True,
    "post_bind": True,
    "rollback": True,
    "serve": True,
}


class UnusablePlugin(ValueError):
    """A plugin is invalid; the message has the reason."""


def load_plugins(
    built_in: Iterable[type[BinderPlugin]],
    references: Sequence[str] = (),
    options: Mapping[str, Mapping[str, str]] | None = None,
    *,
    without: Iterable[str] = (),
) -> list[BinderPlugin]:
    """Return all plugins in their order. `options` are by plugin; plugins named in `without` are skipped."""
    classes: dict[str, type[BinderPlugin]] = {}
    for candidate in built_in:
        _add(classes, candidate, candidate.__qualname__)
    for entry_point in sorted(entry_points(group=ENTRY_POINTS), key=lambda each: (each.name, each.value)):
        _add(classes, _loaded(entry_point), _title(entry_point))
    for reference in references:
        _add(classes, _named(reference), reference)
    values, skipped = options or {}, set(without)
    for name in (*values, *sorted(skipped)):
        if name not in classes:
            known = ", ".join(sorted(classes))
            raise UnusablePlugin(f"unknown binder plugin {name!r}; known plugins: {known}")
    return [_made(each, values.get(name, {})) for name, each in classes.items() if name not in skipped]


def read_options(pairs: Iterable[str]) -> dict[str, dict[str, str]]:
    """Read options of the form `plugin.option=value`. Raises UnusablePlugin for any other form."""
    found: dict[str, dict[str, str]] = {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        plugin, dot, option = name.partition(".")
        if not (separator and dot and plugin and option):
            raise UnusablePlugin(f"{pair!r} is not of the form PLUGIN.OPTION=VALUE")
        found.setdefault(plugin, {})[option] = value
    return found


def _add(classes: dict[str, type[BinderPlugin]], candidate: object, title: str) -> None:
    if not (isinstance(candidate, type) and issubclass(candidate, BinderPlugin)):
        raise UnusablePlugin(f"{title} is not a binder plugin; derive a class from BinderPlugin")
    errors = _errors_of(candidate)
    if errors:
        raise UnusablePlugin("\n".join(f"{title} cannot be used: {error}" for error in errors))
    other = classes.setdefault(candidate.name, candidate)
    if other is not candidate:
        raise UnusablePlugin(
            f"{title}: the name {candidate.name!r} is taken by {other.__module__}.{other.__qualname__}; choose another"
        )


def _errors_of(candidate: type[BinderPlugin]) -> list[str]:
    errors = [] if candidate.name else [f"{candidate.__qualname__} has no name; set `name`"]
    for name, is_async in _METHODS.items():
        method = getattr(candidate, name)
        if inspect.iscoroutinefunction(method) != is_async:
            kind = "an async def" if is_async else "a plain def"
            errors.append(f"{name} must be {kind}")
        expected = list(inspect.signature(getattr(BinderPlugin, name)).parameters)
        found = list(inspect.signature(method).parameters)
        if len(found) != len(expected):
            errors.append(f"{name} must take ({', '.join(expected)}), and takes ({', '.join(found)})")
    return errors


def _made(candidate: type[BinderPlugin], options: Mapping[str, str]) -> BinderPlugin:
    unknown = sorted(set(options) - set(candidate.defaults))
    if unknown:
        known = ", ".join(sorted(candidate.defaults)) or "none"
        raise UnusablePlugin(f"plugin {candidate.name} has no option {unknown[0]!r}; it has: {known}")
    try:
        return candidate(options)
    except Exception as error:
        message = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise UnusablePlugin(f"plugin {candidate.name} cannot be used: {message}") from error


def _loaded(entry_point: EntryPoint) -> object:
    try:
        loaded: object = entry_point.load()
    except Exception as error:
        raise UnusablePlugin(
            f"{_title(entry_point)} cannot be used: {type(error).__name__}: {error}; "
            "correct, reinstall or uninstall the package"
        ) from error
    return loaded


def _title(entry_point: EntryPoint) -> str:
    package = f"package {entry_point.dist.name!r}" if entry_point.dist else "an installed package"
    return f"entry point {entry_point.name!r} ({entry_point.value}) of {package}"


def _named(reference: str) -> object:
    """Import the class `package.module:Class`. Importing runs the module's code, which may raise any exception."""
    module_name, _, path = reference.partition(":")
    if not module_name or not path:
        raise UnusablePlugin(f"{reference!r} does not name a class; write package.module:Class")
    try:
        module = import_module(module_name)
    except Exception as error:
        raise UnusablePlugin(f"{reference}: cannot import {module_name!r}: {type(error).__name__}: {error}") from error
    try:
        found: object = reduce(getattr, path.split("."), module)
    except AttributeError:
        raise UnusablePlugin(f"{reference}: module {module_name!r} has no {path!r}") from None
    return found
