"""Plugins of the binder: built in, from installed packages (entry points), and named by a flag.

As with plugins of the scheduler, a class is checked when it joins, and one that cannot be used is refused with a
sentence that names it. Built-in plugins come first, then those of packages by name, then those of flags.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

from stromboli.binding.plugins.plugin import BinderPlugin

ENTRY_POINTS = "stromboli.binder_plugins"
#: Questions that may be answered, by whether the answer is awaited.
_METHODS = {
    "validate": False,
    "mutate": False,
    "open": False,
    "applies_to": False,
    "changed": False,
    "pre_bind": True,
    "post_bind": True,
    "rollback": True,
    "serve": True,
}


class UnusablePlugin(ValueError):
    """A plugin that cannot be used, with the reason in words."""


def load_plugins(
    built_in: Iterable[type[BinderPlugin]],
    references: Sequence[str] = (),
    options: Mapping[str, Mapping[str, str]] | None = None,
    *,
    without: Iterable[str] = (),
) -> list[BinderPlugin]:
    """All plugins in their order, ready to be opened. `options` are by plugin, `without` names those left out."""
    classes: dict[str, type[BinderPlugin]] = {}
    for candidate in built_in:
        _add(classes, candidate, candidate.__qualname__)
    for entry_point in sorted(entry_points(group=ENTRY_POINTS), key=lambda each: (each.name, each.value)):
        _add(classes, _loaded(entry_point), _title(entry_point))
    for reference in references:
        _add(classes, _named(reference), reference)
    given, left_out = options or {}, set(without)
    for name in (*given, *sorted(left_out)):
        if name not in classes:
            known = ", ".join(sorted(classes))
            raise UnusablePlugin(f"there is no plugin {name!r} of the binder; there are: {known}")
    return [_made(each, given.get(name, {})) for name, each in classes.items() if name not in left_out]


def read_options(pairs: Iterable[str]) -> dict[str, dict[str, str]]:
    """From `plugin.option=value`. Raises UnusablePlugin for what is not of this form."""
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
        raise UnusablePlugin(f"{title} is no plugin of the binder; derive a class from BinderPlugin")
    faults = _errors_of(candidate)
    if faults:
        raise UnusablePlugin("\n".join(f"{title} cannot be used: {fault}" for fault in faults))
    other = classes.setdefault(candidate.name, candidate)
    if other is not candidate:
        raise UnusablePlugin(
            f"{title}: the name {candidate.name!r} is taken by {other.__module__}.{other.__qualname__}; choose another"
        )


def _errors_of(candidate: type[BinderPlugin]) -> list[str]:
    faults = [] if candidate.name else [f"{candidate.__qualname__} has no name; set `name`"]
    for question, is_async in _METHODS.items():
        answer = getattr(candidate, question)
        if inspect.iscoroutinefunction(answer) != is_async:
            how = "an async def" if is_async else "a plain def"
            faults.append(f"{question} must be {how}")
        expected = list(inspect.signature(getattr(BinderPlugin, question)).parameters)
        found = list(inspect.signature(answer).parameters)
        if len(found) != len(expected):
            faults.append(f"{question} must take ({', '.join(expected)}), and takes ({', '.join(found)})")
    return faults


def _made(candidate: type[BinderPlugin], options: Mapping[str, str]) -> BinderPlugin:
    unknown = sorted(set(options) - set(candidate.defaults))
    if unknown:
        known = ", ".join(sorted(candidate.defaults)) or "none"
        raise UnusablePlugin(f"plugin {candidate.name} has no option {unknown[0]!r}; it has: {known}")
    try:
        return candidate(options)
    except Exception as error:
        words = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise UnusablePlugin(f"plugin {candidate.name} cannot be used: {words}") from error


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
    """The class that `package.module:Class` points to. Importing runs the module's code, so anything may be raised."""
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
