"""Arguments of plugins and actions: declared once, checked when the configuration is read.

A declaration gives the key as it stands in the configuration file, the type, the default and a sentence for the
documentation. A key may end in a placeholder (`binpack.resources.<name>`): every key with that beginning is
then accepted. What a mapping may hold is declared in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stromboli.core.config.spelling import nearest

ArgumentType = type[bool] | type[int] | type[float] | type[str] | type[dict[str, Any]] | type[list[Any]]


@dataclass(frozen=True, slots=True)
class Argument:
    key: str
    type: ArgumentType
    default: Any
    meaning: str
    minimum: float | None = None
    #: Accepted for compatibility and without effect; the sentence says why, and becomes a warning.
    ignored: str = ""
    #: The texts to choose from, where not every text will do.
    choices: tuple[str, ...] = ()
    #: Reads a text of which a certain form is expected; raises ValueError in words.
    form: Callable[[str], object] | None = None
    #: What a mapping may hold; nothing is said where it may hold anything.
    entries: tuple[Argument, ...] = ()
    #: What each of the mappings in a list may hold; the list then holds nothing else.
    items: tuple[Argument, ...] = ()

    @property
    def prefix(self) -> str | None:
        """What a key must begin with, for a declaration with a placeholder."""
        return self.key[: self.key.index("<")] if self.key.endswith(">") else None

    def accepts_key(self, key: str) -> bool:
        prefix = self.prefix
        return key == self.key if prefix is None else key.startswith(prefix) and len(key) > len(prefix)

    def fault(self, value: object) -> str | None:
        """What is wrong with a value, or None."""
        if not _has_type(value, self.type):
            return f"expected {_TYPE_WORDS[self.type]}, got {value!r}"
        if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
            return f"expected a finite number, got {value!r}"
        if self.minimum is not None and isinstance(value, (int, float)) and value < self.minimum:
            return f"expected at least {self.minimum:g}, got {value!r}"
        if self.choices and value not in self.choices:
            return f"expected {' or '.join(self.choices)}, got {value!r}"
        if self.form is not None and isinstance(value, str):
            try:
                self.form(value)
            except ValueError as error:
                return str(error)
        if self.items and isinstance(value, list):
            return self._fault_in_list(value)
        return _fault_inside(self.entries, value) if self.entries and isinstance(value, Mapping) else None

    def _fault_in_list(self, value: list[object]) -> str | None:
        """What is wrong with the first bad entry of a list, behind its number."""
        for number, entry in enumerate(value, start=1):
            if not isinstance(entry, Mapping):
                return f"entry {number}: expected a mapping, got {entry!r:.60}"
            fault = _fault_inside(self.items, entry)
            if fault:
                return f"entry {number}: {fault}"
        return None


def _fault_inside(entries: Sequence[Argument], value: Mapping[str, object]) -> str | None:
    """What is wrong with the first bad entry of a mapping, behind its key."""
    for key, entry in value.items():
        declared = next((each for each in entries if each.accepts_key(key)), None)
        if declared is None:
            known = [each.key for each in entries]
            meant = nearest(key, known)
            hint = f"did you mean {meant!r}?" if meant else f"there are: {', '.join(known)}"
            return f"{key!r} is not known here; {hint}"
        fault = "it has no value" if entry is None else declared.fault(entry)
        if fault:
            return f"{key}: {fault}"
    return None


_TYPE_WORDS: dict[object, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    dict: "a mapping",
    list: "a list",
}


def _has_type(value: object, wanted: ArgumentType) -> bool:
    if wanted is bool:
        return isinstance(value, bool) or (isinstance(value, str) and value.lower() in ("true", "false"))
    if isinstance(value, bool):
        return False
    if wanted is float:
        return isinstance(value, (int, float))
    return isinstance(value, wanted)


#: Of several actions of Volcano's.
PREDICATE_ERROR_CACHE = Argument(
    "predicateErrorCacheEnable",
    bool,
    True,
    "Volcano's cache of refusals per role.",
    ignored="answers are always kept per task class, which is exact",
)


class Arguments(Mapping[str, Any]):
    """The arguments of one plugin or action, defaults filled in."""

    def __init__(self, declared: Sequence[Argument] = (), given: Mapping[str, object] | None = None) -> None:
        self._values: dict[str, Any] = {a.key: a.default for a in declared if a.prefix is None}
        for key, value in (given or {}).items():
            self._values[key] = self._as_declared(declared, key, value)

    @staticmethod
    def _as_declared(declared: Sequence[Argument], key: str, value: object) -> object:
        for argument in declared:
            if argument.accepts_key(key) and argument.type is bool and isinstance(value, str):
                return value.lower() == "true"
        return value

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def with_prefix(self, prefix: str) -> dict[str, Any]:
        """The given keys that begin with `prefix`, without it."""
        return {k.removeprefix(prefix): v for k, v in self._values.items() if k.startswith(prefix) and k != prefix}
