"""How a write is meant."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """What a caller wants besides the object itself."""

    dry_run: bool = False
    manager: str = "unknown"
    subresource: str = ""
    #: What becomes of fields that the kind does not have: `Strict` refuses, `Ignore` says nothing, else it is told.
    field_validation: str = ""
    #: An applied object comes with its managers already recorded.
    is_applied: bool = False
    #: Whether the body is what a patch makes of the object, and not what a caller sent as a whole.
    is_patched: bool = False
    #: What the caller is told although the write is done.
    warnings: list[str] = field(default_factory=list)
