"""Libraries of optional extras."""

from __future__ import annotations


class MissingExtra(ImportError):
    """A library of an extra is not installed."""

    def __init__(self, extra: str) -> None:
        super().__init__(f"this needs further libraries: pip install 'stromboli[{extra}]'")
