"""The result of the rules for an object: violations, warnings, and access reviews that are still needed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain

#: The verb on queues that allows their use.
USE = "use"


@dataclass(frozen=True, slots=True)
class Violation:
    """The reason of a rejection: field, message and remedy."""

    message: str
    #: The object is valid, but the user lacks permission.
    is_forbidden: bool = False
    #: The queue that the violation depends on. The watched queue may be outdated, so it is read again before rejecting.
    queue: str = ""
    #: The missing group that it depends on, likewise.
    group: str = ""


@dataclass(frozen=True, slots=True)
class QueueUse:
    """A queue that the user must be allowed to use, or to change, and the field that names it."""

    queue: str
    field: str
    verb: str = USE


@dataclass(frozen=True, slots=True)
class AdmissionVerdict:
    """The result for one object; `subject` is its kind and name."""

    subject: str = ""
    violations: tuple[Violation, ...] = ()
    warnings: tuple[str, ...] = ()
    uses: tuple[QueueUse, ...] = ()

    @property
    def is_allowed(self) -> bool:
        return not self.violations

    @property
    def is_forbidden(self) -> bool:
        return bool(self.violations) and all(violation.is_forbidden for violation in self.violations)

    @property
    def message(self) -> str:
        return f"{self.subject}: " + "; and ".join(dict.fromkeys(violation.message for violation in self.violations))

    @property
    def dependent_queues(self) -> frozenset[str]:
        return frozenset(violation.queue for violation in self.violations if violation.queue)

    @property
    def dependent_groups(self) -> frozenset[str]:
        return frozenset(violation.group for violation in self.violations if violation.group)

    def plus(self, *others: AdmissionVerdict) -> AdmissionVerdict:
        """Combine verdicts, in order."""
        every = (self, *others)
        return AdmissionVerdict(
            self.subject,
            tuple(dict.fromkeys(chain.from_iterable(each.violations for each in every))),
            tuple(dict.fromkeys(chain.from_iterable(each.warnings for each in every))),
            tuple(dict.fromkeys(chain.from_iterable(each.uses for each in every))),
        )

    def without_old(self, before: AdmissionVerdict) -> AdmissionVerdict:
        """Remove violations that the old object already had."""
        known = {violation.message for violation in before.violations}
        return replace(
            self, violations=tuple(violation for violation in self.violations if violation.message not in known)
        )


GOOD = AdmissionVerdict()


def refused(*violations: Violation) -> AdmissionVerdict:
    return AdmissionVerdict(violations=violations)


def warned(*warnings: str) -> AdmissionVerdict:
    return AdmissionVerdict(warnings=warnings)


def invalid(field: str, message: str, remedy: str, *, queue: str = "") -> AdmissionVerdict:
    return refused(Violation(f"{field}: {message}; {remedy}", queue=queue))


def forbidden(field: str, message: str, remedy: str, *, queue: str = "") -> AdmissionVerdict:
    return refused(Violation(f"{field}: {message}; {remedy}", is_forbidden=True, queue=queue))
