"""What the rules say about an object: what is wrong with it, what is worth knowing, and what has yet to be asked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain


@dataclass(frozen=True, slots=True)
class Violation:
    """Why an object is refused, in words that begin with the field and end with a remedy."""

    words: str
    #: Nothing is wrong with the object, but whoever wants it may not have it.
    is_forbidden: bool = False
    #: The queue that it was found out by. What is remembered of a queue may be old, so that it is read again first.
    queue: str = ""


@dataclass(frozen=True, slots=True)
class QueueUse:
    """A queue that whoever asks must be allowed to use, and where it is named."""

    queue: str
    field: str


@dataclass(frozen=True, slots=True)
class AdmissionVerdict:
    """Of one object; `subject` is its kind and name."""

    subject: str = ""
    faults: tuple[Violation, ...] = ()
    warnings: tuple[str, ...] = ()
    uses: tuple[QueueUse, ...] = ()

    @property
    def is_allowed(self) -> bool:
        return not self.faults

    @property
    def is_forbidden(self) -> bool:
        return bool(self.faults) and all(fault.is_forbidden for fault in self.faults)

    @property
    def message(self) -> str:
        return f"{self.subject}: " + "; and ".join(dict.fromkeys(fault.words for fault in self.faults))

    @property
    def queues_in_doubt(self) -> frozenset[str]:
        return frozenset(fault.queue for fault in self.faults if fault.queue)

    def plus(self, *others: AdmissionVerdict) -> AdmissionVerdict:
        """All of it together, in this order."""
        every = (self, *others)
        return AdmissionVerdict(
            self.subject,
            tuple(dict.fromkeys(chain.from_iterable(each.faults for each in every))),
            tuple(dict.fromkeys(chain.from_iterable(each.warnings for each in every))),
            tuple(dict.fromkeys(chain.from_iterable(each.uses for each in every))),
        )

    def beyond(self, before: AdmissionVerdict) -> AdmissionVerdict:
        """Without what was wrong before: whoever changes something else is not asked to mend it."""
        known = {fault.words for fault in before.faults}
        return replace(self, faults=tuple(fault for fault in self.faults if fault.words not in known))


GOOD = AdmissionVerdict()


def refused(*faults: Violation) -> AdmissionVerdict:
    return AdmissionVerdict(faults=faults)


def warned(*warnings: str) -> AdmissionVerdict:
    return AdmissionVerdict(warnings=warnings)


def invalid(field: str, message: str, remedy: str, *, queue: str = "") -> AdmissionVerdict:
    return refused(Violation(f"{field}: {message}; {remedy}", queue=queue))


def forbidden(field: str, message: str, remedy: str, *, queue: str = "") -> AdmissionVerdict:
    return refused(Violation(f"{field}: {message}; {remedy}", is_forbidden=True, queue=queue))
