"""Label selectors as Kubernetes defines them, as plain comparable values.

`LabelSelector` selects pods by labels (In, NotIn, Exists, DoesNotExist); `NodeTerm` selects nodes by labels and fields
(also Gt and Lt). Both are frozen and hashable, so that classes and terms can be interned.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

#: From this number on, values are looked up in a set.
_MANY_VALUES = 16


@dataclass(frozen=True, slots=True)
class Requirement:
    """One expression: `key operator values`."""

    key: str
    operator: str
    values: tuple[str, ...] = ()
    _allowed: Collection[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        values = self.values
        object.__setattr__(self, "_allowed", values if len(values) < _MANY_VALUES else frozenset(values))

    def holds(self, present: str | None) -> bool:
        """Report whether a label with this value (None if absent) satisfies the requirement."""
        match self.operator:
            case "In":
                return present is not None and present in self._allowed
            case "NotIn":
                return present is None or present not in self._allowed
            case "Exists":
                return present is not None
            case "DoesNotExist":
                return present is None
            case _:
                return self._compares(present)

    def _compares(self, present: str | None) -> bool:
        left, right = as_integer(present), as_integer(self.values[0] if len(self.values) == 1 else None)
        if left is None or right is None:
            return False
        return left > right if self.operator == "Gt" else left < right


def as_integer(text: str | None) -> int | None:
    """Parse a label as a 64-bit integer, or return None: only such labels can be compared with Gt and Lt."""
    if text is None or len(text) > 20 or not text.removeprefix("-").removeprefix("+").isdecimal():
        return None
    try:
        number = int(text)
    except ValueError:
        return None
    return number if -(1 << 63) <= number < 1 << 63 else None


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """All requirements must hold. Without requirements it matches everything."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        return all(requirement.holds(labels.get(requirement.key)) for requirement in self.requirements)


#: Selects everything, as an empty selector does.
EVERYTHING = LabelSelector()
#: Selects nothing, as an absent selector does.
NOTHING = LabelSelector((Requirement("", "In", ()),))


@dataclass(frozen=True, slots=True)
class NodeTerm:
    """One term of a node affinity: all label expressions and all field expressions must hold."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()

    @property
    def is_empty(self) -> bool:
        """An empty term matches no node."""
        return not self.labels and not self.fields
