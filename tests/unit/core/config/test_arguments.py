"""Typed arguments: defaults, conversion, nesting and prefixes."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from stromboli.core.config.arguments import Argument, Arguments, PrefixArgument
from stromboli.core.model.values.times import parse_duration


class InnerArguments(Arguments):
    limit: float = Argument("limit", 80.0, "A limit.", minimum=0)
    weights: Mapping[str, int] = PrefixArgument("<name>", 1, "Weights by name.")


class OuterArguments(Arguments):
    weight: int = Argument("outer.weight", 1, "A weight.", minimum=0)
    enabled: bool = Argument("outer.enabled", False, "A switch.")
    timeout: float = Argument("outer.timeout", "1m", "A duration.", parse=parse_duration)
    inner: InnerArguments = Argument("inner", {}, "Nested arguments.", entries=InnerArguments)
    steps: list[InnerArguments] = Argument("steps", [], "A list of them.", items=InnerArguments)
    named: Mapping[str, float] = PrefixArgument("outer.<name>", 1.0, "Further keys.")


class FurtherArguments(OuterArguments):
    further: str = Argument("further", "a", "One more.", choices=("a", "b"))


def test_missing_arguments_have_typed_defaults() -> None:
    arguments = OuterArguments()
    assert (arguments.weight, arguments.enabled, arguments.timeout) == (1, False, 60.0)
    assert (arguments.inner.limit, arguments.steps, arguments.named) == (80.0, [], {})


def test_configured_values_are_converted() -> None:
    arguments = OuterArguments({"outer.enabled": True, "outer.timeout": "5s", "inner": {"limit": 7, "cpu": 3}})
    assert (arguments.enabled, arguments.timeout) == (True, 5.0)
    assert (arguments.inner.limit, type(arguments.inner.limit), arguments.inner.weights) == (7.0, float, {"cpu": 3})


def test_items_of_a_list_are_nested_arguments() -> None:
    assert [step.limit for step in OuterArguments({"steps": [{"limit": 1}, {}]}).steps] == [1.0, 80.0]


def test_prefix_collects_keys_without_a_declaration_of_their_own() -> None:
    assert OuterArguments({"outer.weight": 2, "outer.other": 3}).named == {"other": 3.0}


def test_subclass_inherits_declarations() -> None:
    assert [spec.key for spec in FurtherArguments.declared] == [*(s.key for s in OuterArguments.declared), "further"]
    assert FurtherArguments({"outer.weight": 4}).weight == 4


def test_equality_is_by_class_and_configured_values() -> None:
    assert OuterArguments({"outer.weight": 2}) == OuterArguments({"outer.weight": 2})
    assert OuterArguments({"outer.weight": 2}) != OuterArguments()
    assert OuterArguments() != FurtherArguments()


@pytest.mark.parametrize(
    ("key", "value", "fault"),
    [
        ("outer.weight", 1.5, "expected a whole number, got 1.5"),
        ("outer.weight", True, "expected a whole number, got True"),
        ("outer.weight", -1, "expected at least 0, got -1"),
        ("outer.enabled", "maybe", "expected true or false, got 'maybe'"),
        ("outer.enabled", "true", "expected true or false, got 'true'"),
        ("further", "c", "expected a or b, got 'c'"),
    ],
)
def test_invalid_value_is_described(key: str, value: object, fault: str) -> None:
    spec = FurtherArguments.declaration_of(key)
    assert spec is not None
    assert spec.fault(value) == fault
