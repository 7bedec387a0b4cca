"""Findings of rules, and the evaluation of tables of rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from stromboli.kube.manifests.errors import ObjectError
from stromboli.workloads.document import WorkloadDocument


class RuleFinding(NamedTuple):
    """What is wrong in a field, and how to correct it."""

    field: str
    message: str
    remedy: str
    #: The object can be used nevertheless.
    is_warning: bool = False

    def __str__(self) -> str:
        return f"{self.field}: {self.message}; {self.remedy}"


Rule = Callable[[WorkloadDocument], Iterator[RuleFinding]]


def findings_by(rules: Iterable[Rule], document: WorkloadDocument) -> list[RuleFinding]:
    """Apply all rules. A rule that finds a value of a wrong type ends, with a finding about this field if there is none
    of earlier rules.
    """
    found: dict[RuleFinding, None] = {}
    for rule in rules:
        try:
            for each in rule(document):
                found[each] = None
        except ObjectError as error:
            if all(each.field != error.field for each in found):
                found[RuleFinding(error.field, error.message, error.remedy)] = None
    return list(found)


def below(path: str, findings: Iterable[RuleFinding]) -> list[RuleFinding]:
    """Return findings about a part of an object as findings about the object."""
    return [each._replace(field=f"{path}.{each.field}") for each in findings]


def raise_first(document: WorkloadDocument, findings: Sequence[RuleFinding]) -> None:
    """Raise an ObjectError for the first finding that is not a warning."""
    for each in findings:
        if not each.is_warning:
            raise document.error(each.field, each.message, each.remedy)
