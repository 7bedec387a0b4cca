"""Error messages about objects, for their authors.

The decoder reports types and JSON paths; an ObjectError names the object and the field, describes the value found
there, and ends with a remedy.
"""

import re
from typing import Any

import msgspec

_PLACE = re.compile(r" - at (?:`key` in )?`\$\.?([^`]*)`$")
_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
_MISMATCH = re.compile(r"Expected `([^`]*)`, got `([^`]*)`")
_OUT_OF_RANGE = re.compile(r"Expected `int` (<=|>=) (-?\d+)")
_SOME_ENTRY = "[...]"

_TYPE_NAMES = {
    "int": "an integer",
    "float": "a number",
    "str": "a string",
    "bool": "a boolean",
    "array": "a list",
    "object": "a map",
    "null": "null",
}
_WIRE_TYPES = {int: "int", float: "float", str: "str", bool: "bool", list: "array", dict: "object"}
_REMEDIES = {
    "int": "write a whole number",
    "str": "put the value in quotes",
    "bool": "write true or false",
    "array": "write a list, one item per dash",
    "object": "write a map of keys and values",
    "int | str": "write a whole number, or a percentage in quotes",
    "int | float | str": "write a quantity such as 500m, 2 or 4Gi",
}


class ObjectError(ValueError):
    """An invalid object: which one, which field, why, and a remedy."""

    def __init__(self, kind: str, name: str, field: str, message: str, remedy: str) -> None:
        self.kind = printable(kind)
        self.name = printable(name)
        self.field = field
        self.message = message
        self.remedy = remedy
        super().__init__(self.kind, self.name, field, message, remedy)

    def __str__(self) -> str:
        subject = f"{self.kind} {self.name}".rstrip()
        place = f"{subject}: {self.field}" if self.field else subject
        return f"{place}: {self.message}; {self.remedy}"


def printable(text: str, max_length: int = 300) -> str:
    """Return text that is safe to print: user text may contain terminal escapes or be megabytes long."""
    shown = text[:max_length]
    shown = shown if shown.isprintable() else ascii(shown)[1:-1]
    return shown if len(text) <= max_length else f"{shown}…"


def path_problem(path: str, error: Exception) -> str:
    """Describe a file that cannot be read or written, in the words of kubectl."""
    shown = printable(path)
    if isinstance(error, FileNotFoundError):
        return f'the path "{shown}" does not exist'
    if isinstance(error, UnicodeDecodeError):
        return f'the path "{shown}" is not UTF-8 text'
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return f'the path "{shown}" cannot be accessed: {reason[:1].lower()}{reason[1:]}'


def description_of(value: object) -> str:
    """The name of a value's YAML or JSON type, for messages."""
    return _TYPE_NAMES[_WIRE_TYPES.get(type(value), "null")]


def object_error(kind: str, name: str, document: object, error: msgspec.ValidationError) -> ObjectError:
    """Convert the decoder's error about a document."""
    text = str(error)
    place = _PLACE.search(text)
    path = place[1] if place else ""
    if mismatch := _MISMATCH.match(text):
        message, remedy = _describe_mismatch(*mismatch.groups())
        return ObjectError(kind, name, _named(path, document, mismatch[2]), message, remedy)
    message, remedy = _describe_other(text)
    return ObjectError(kind, name, path.removesuffix(_SOME_ENTRY), message, remedy)


def _describe_mismatch(expected: str, got: str) -> tuple[str, str]:
    choices = [choice for choice in expected.split(" | ") if choice != "null"]
    is_quantity = choices == ["int", "float", "str"]
    expected = "a quantity" if is_quantity else " or ".join(_TYPE_NAMES.get(choice, choice) for choice in choices)
    message = f"expected {expected}, got {_TYPE_NAMES.get(got, got)}"
    if got == "null":
        return message, "write a value or remove the line"
    if choices == ["str"] and got in ("array", "object"):
        return message, "write a single value"
    return message, _REMEDIES.get(" | ".join(choices), "correct the value")


def _describe_other(text: str) -> tuple[str, str]:
    if bound := _OUT_OF_RANGE.match(text):
        if bound[1] == "<=":
            return f"expected an integer of at most {bound[2]}", "write a smaller number"
        return f"expected an integer of at least {bound[2]}", "write a larger number"
    return printable(_PLACE.sub("", text)), "correct the value"


def _named(path: str, document: Any, got: str) -> str:
    """The path of the rejected entry. Of a map, the decoder does not name it: it is the first one of that type."""
    if not path.endswith(_SOME_ENTRY):
        return path
    field = path.removesuffix(_SOME_ENTRY)
    for name, index in _STEP.findall(field):
        document = document[name] if name else document[int(index)]
    culprits = (key for key, value in document.items() if _WIRE_TYPES.get(type(value), "null") == got)
    return f"{field}[{printable(str(next(culprits)))}]"
