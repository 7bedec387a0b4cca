"""Checks of a plugin or action class on registration.

Python would find these errors late, in the middle of a cycle, or never: a misspelt extension point is a method that is
never called.
"""

import inspect
import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from weakref import WeakKeyDictionary

from stromboli.core.config.action import Action
from stromboli.core.config.arguments import Arguments
from stromboli.core.config.plugin import API_VERSION, Plugin
from stromboli.core.search.node_rules import Locality

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_MISSPELT_FROM = 0.85
#: Shorter names (`open`, `close`) are similar to too many valid ones.
_MIN_MISSPELT_LENGTH = 7
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)

Base = type[Plugin] | type[Action]
_INSPECTED: WeakKeyDictionary[Base, tuple[str, ...]] = WeakKeyDictionary()


def faults_of(candidate: Base, base: Base) -> tuple[str, ...]:
    """Return all errors of a class, each as a sentence without the name of the class. A class is inspected once."""
    if candidate not in _INSPECTED:
        _INSPECTED[candidate] = tuple(_faults(candidate, base))
    return _INSPECTED[candidate]


def _faults(candidate: Base, base: Base) -> Iterator[str]:
    yield from _name_faults(candidate.name)
    yield from _argument_faults(candidate.arguments)
    if candidate.api_version != API_VERSION:
        yield f"it is written for version {candidate.api_version!r} of stromboli.api, and this is version {API_VERSION}"
    if issubclass(candidate, Plugin):
        yield from _locality_faults(candidate.locality)
        yield from _keys_faults("reads_labels", candidate.reads_labels)
        yield from _keys_faults("reads_annotations", candidate.reads_annotations)
        yield from _keys_faults("reads_config_maps", candidate.reads_config_maps)
    for method in ("__init__", *_public_methods(base)):
        yield from _override_faults(candidate, base, method)
    yield from _misspelling_faults(candidate, base)


def _name_faults(name: object) -> Iterator[str]:
    if not isinstance(name, str) or not name:
        yield "it has no name; set the class attribute 'name'"
    elif not _NAME.fullmatch(name):
        yield f"the name {name!r} must be lower-case words joined by hyphens, such as 'node-order'"


def _argument_faults(arguments: object) -> Iterator[str]:
    if not isinstance(arguments, Arguments):
        yield "'arguments' must be an instance of a subclass of Arguments"
        return
    keys = [argument.key for argument in arguments.declared]
    for key in sorted({key for key in keys if keys.count(key) > 1}):
        yield f"argument {key!r} is declared twice"


def _locality_faults(locality: object) -> Iterator[str]:
    if not isinstance(locality, Locality):
        yield f"'locality' must be a Locality such as Locality.ROW, not {locality!r}"


def _keys_faults(attribute: str, keys: object) -> Iterator[str]:
    """Check a tuple of keys; a plain text would be read as its letters."""
    if not isinstance(keys, tuple) or not all(isinstance(key, str) for key in keys):
        yield f"{attribute!r} must be a tuple of texts, not {keys!r}"


def _public_methods(owner: type) -> list[str]:
    return [name for name in dir(owner) if not name.startswith("_") and callable(getattr(owner, name))]


def _override_faults(candidate: Base, base: Base, method: str) -> Iterator[str]:
    """Check an override: calls are by position and by name, so it needs the base's parameters in the base's order."""
    override = inspect.getattr_static(candidate, method)
    original = inspect.getattr_static(base, method)
    if override is original:
        return
    wanted = [parameter.name for parameter in _parameters(original) or ()]
    parameters = _parameters(override)
    if parameters is None:
        yield f"{method!r} must be a method"
    elif not _accepts(parameters, wanted):
        found = ", ".join(str(parameter.replace(annotation=inspect.Parameter.empty)) for parameter in parameters)
        yield (f"{method!r} takes ({found}), but must take ({', '.join(wanted)}); further parameters need a default")


def _parameters(method: object) -> list[inspect.Parameter] | None:
    """Return the parameters of a call, without the instance or class; None if it is not a method."""
    if isinstance(method, staticmethod):
        return list(inspect.signature(method.__func__).parameters.values())
    if isinstance(method, classmethod):
        method = method.__func__
    if not callable(method) or not hasattr(method, "__get__"):
        return None
    return list(inspect.signature(method).parameters.values())[1:]


def _accepts(parameters: list[inspect.Parameter], wanted: list[str]) -> bool:
    first, rest = parameters[: len(wanted)], parameters[len(wanted) :]
    return (
        [parameter.name for parameter in first] == wanted
        and all(parameter.kind in _POSITIONAL for parameter in first)
        and all(p.default is not p.empty or p.kind in _VARIADIC for p in rest)
    )


def _misspelling_faults(candidate: Base, base: Base) -> Iterator[str]:
    known = _public_methods(base)
    what = "a question" if issubclass(base, Plugin) else "a step of an action"
    for method in _public_methods(candidate):
        if method in known:
            continue
        meant = max(known, key=lambda name: _likeness(method, name))
        if len(meant) >= _MIN_MISSPELT_LENGTH and _likeness(method, meant) >= _MISSPELT_FROM:
            yield f"{method!r} is not {what}; did you mean {meant!r}?"


def _likeness(method: str, known: str) -> float:
    """Return a similarity between 0 and 1, without regard to capitals and underscores, as in `JobOrder`."""
    return SequenceMatcher(None, _letters(method), _letters(known)).ratio()


def _letters(name: str) -> str:
    return name.replace("_", "").lower()
