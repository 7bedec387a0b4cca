"""CEL selectors of devices: compiled once, and evaluated once per device.

Results are cached with the device and dropped with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from stromboli.core.model.devices.claims import DeviceCriteria, DeviceToleration
from stromboli.kube.objects.claims import DeviceAttribute, DeviceSelector, DeviceTaint
from stromboli.kube.objects.claims import KubeDevice as WireDevice

if TYPE_CHECKING:
    from stromboli.cel.program import CompiledExpression

#: Taints with other effects do not exclude a device.
_EXCLUDING_EFFECTS = ("NoSchedule", "NoExecute")


@lru_cache(maxsize=1024)
def _program(expression: str) -> CompiledExpression | str:
    """The compiled expression, or why it is invalid."""
    from stromboli.cel.errors import CompileError
    from stromboli.cel.program import CompiledExpression

    try:
        return CompiledExpression(expression, ("device",))
    except CompileError as error:
        return str(error)


def fault_of(expression: str) -> str:
    """Return why an expression is invalid for any device."""
    program = _program(expression)
    return program if isinstance(program, str) else ""


def expressions_of(selectors: Iterable[DeviceSelector] | None, where: str) -> tuple[str, ...]:
    """Raises ValueError with the field in front."""
    found = []
    for number, selector in enumerate(selectors or ()):
        expression = (selector.cel.expression if selector.cel else None) or ""
        if not expression:
            raise ValueError(f"{where}.selectors[{number}]: only CEL expressions are understood")
        if fault := fault_of(expression):
            raise ValueError(f"{where}.selectors[{number}].cel.expression {expression!r}: {fault}")
        found.append(expression)
    return tuple(found)


def qualified(name: str, driver: str) -> str:
    """Names without a domain belong to the driver."""
    return name if "/" in name else f"{driver}/{name}"


class DeviceDocument:
    """A device as expressions see it, with their cached results."""

    def __init__(self, wire: WireDevice, driver: str) -> None:
        self._wire = wire
        self._driver = driver
        self._taints = [taint for taint in wire.taints or () if taint.effect in _EXCLUDING_EFFECTS]
        self._facts: dict[str, object] | None = None
        self._answers: dict[str, bool | str] = {}

    def answer(self, suit: DeviceCriteria) -> bool | str:
        """Report whether the device satisfies the selectors; or the reason why that cannot be evaluated."""
        if not all(any(_tolerates(each, taint) for each in suit.tolerations) for taint in self._taints):
            return False
        found = next((each for each in map(self._answer_to, suit.selectors) if each is not True), True)
        self._facts = None  # the results are cached, and a cluster has very many devices
        return found

    def _answer_to(self, expression: str) -> bool | str:
        known = self._answers.get(expression)
        if known is None:
            known = self._answers[expression] = self._ask(expression)
        return known

    def _ask(self, expression: str) -> bool | str:
        from stromboli.cel.errors import EvaluationError

        program = _program(expression)
        if isinstance(program, str):
            return False
        try:
            return program.holds({"device": self._facts_of_device()})
        except EvaluationError as error:
            return f"selector {expression!r} has no answer for device {self._wire.name}: {error}"

    def _facts_of_device(self) -> dict[str, object]:
        if self._facts is None:
            from stromboli.cel.values import AttributeDomains, Quantity

            wire, driver = self._wire, self._driver
            attributes, capacity = AttributeDomains(), AttributeDomains()
            for name, attribute in (wire.attributes or {}).items():
                value = _seen(attribute)
                if value is not None:
                    domain, _, own = qualified(name, driver).partition("/")
                    attributes.setdefault(domain, {})[own] = value
            for name, amount in (wire.capacity or {}).items():
                domain, _, own = qualified(name, driver).partition("/")
                capacity.setdefault(domain, {})[own] = Quantity.parse(str(amount.value))
            self._facts = {
                "driver": driver,
                "attributes": attributes,
                "capacity": capacity,
                "allowMultipleAllocations": bool(wire.allow_multiple_allocations),
            }
        return self._facts


def _seen(attribute: DeviceAttribute) -> object:
    """An attribute as expressions see it; None if it cannot be decoded."""
    if attribute.version is None:
        return next((v for v in (attribute.text, attribute.number, attribute.truth) if v is not None), None)
    from stromboli.cel.values import Version

    try:
        return Version.parse(attribute.version)
    except ValueError:
        return None


def _tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    if toleration.operator == "Exists":
        return True
    return bool(toleration.key) and toleration.value == (taint.value or "")
