"""Entries of a kubeconfig with type-checked access to their fields."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from stromboli.kube.client.config.connection import ConnectionProblem
from stromboli.kube.manifests.errors import description_of

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class KubeconfigEntry:
    """A cluster, user or context: source file, title and fields."""

    source: str
    title: str
    fields: Mapping[str, Any]

    def problem(self, field: str, message: str, remedy: str) -> ConnectionProblem:
        return ConnectionProblem(f"{self.source}: {self.title}: {field}: {message}; {remedy}")

    def text(self, field: str, *, required: bool = False) -> str:
        value = self.fields.get(field)
        if value is None or value == "":
            if required:
                raise self.problem(field, "is missing", "write it")
            return ""
        if not isinstance(value, str):
            raise self.problem(field, f"expected a string, got {description_of(value)}", "put the value in quotes")
        return value

    def flag(self, field: str) -> bool:
        value = self.fields.get(field)
        if value is not None and not isinstance(value, bool):
            raise self.problem(field, f"expected a boolean, got {description_of(value)}", "write true or false")
        return bool(value)

    def part(self, field: str) -> KubeconfigEntry | None:
        """A map inside the entry."""
        value = self.fields.get(field)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise self.problem(field, f"expected a map, got {description_of(value)}", "write a map of keys and values")
        return KubeconfigEntry(self.source, f"{self.title}: {field}", value)

    def file(self, field: str) -> str:
        """A path, relative to the file of the entry."""
        path = self.text(field)
        return str(Path(self.source).parent / path) if path else ""

    def content(self, field: str) -> bytes:
        """The decoded value of `field-data`, else the content of the file that `field` names."""
        if data := self.text(f"{field}-data"):
            try:
                return base64.b64decode(data, validate=True)
            except binascii.Error:
                raise self.problem(f"{field}-data", "is not base64", "encode the file with base64 -w0") from None
        path = self.file(field)
        if not path:
            return b""
        try:
            return Path(path).read_bytes()
        except OSError as error:
            raise self.problem(field, f"cannot be read ({error})", "check the path") from None

    def checked(self, field: str, make: Callable[[], T]) -> T:
        """Return the result of `make`; its ValueError is reported for the field."""
        try:
            return make()
        except ValueError as error:
            raise self.problem(field, str(error), "correct the value") from None
