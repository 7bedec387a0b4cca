"""Options of writes."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Options of a write, besides the object."""

    dry_run: bool = False
    manager: str = "unknown"
    subresource: str = ""
    #: Validation of unknown fields: `Strict` rejects, `Ignore` is silent, otherwise they are warnings.
    field_validation: str = ""
    #: An applied object has its managers recorded already.
    is_applied: bool = False
    #: Whether the body is the result of a patch.
    is_patched: bool = False
    #: Warnings for the client.
    warnings: list[str] = field(default_factory=list)
