"""CEL expressions about devices: results, errors and cost."""

from __future__ import annotations

import re
import time

import pytest

from stromboli.cel.errors import CompileError, CostLimitExceeded, EvaluationError
from stromboli.cel.program import CompiledExpression
from stromboli.cel.values import AttributeDomains, Quantity, Version

DOMAIN = "gpu.example.com"
DEVICE = {
    "driver": DOMAIN,
    "attributes": AttributeDomains(
        {
            DOMAIN: {"model": "A100", "cores": 108, "healthy": True, "firmware": Version.parse("12.4.1-rc.1")},
            "topology.example.com": {"root": "pci0"},
        }
    ),
    "capacity": AttributeDomains({DOMAIN: {"memory": Quantity.parse("40Gi"), "share": Quantity.parse("500m")}}),
    "allowMultipleAllocations": False,
}


def evaluate(text: str) -> object:
    return CompiledExpression(text, ("device",)).evaluate({"device": DEVICE})


def own(name: str) -> str:
    return f'device.attributes["{DOMAIN}"].{name}'


MEMORY = f'device.capacity["{DOMAIN}"].memory'

TRUE = [
    # attributes of a device
    f'device.driver == "{DOMAIN}"',
    f'{own("model")} == "A100"',
    f"{own('cores')} > 100 && {own('cores')} <= 108",
    own("healthy"),
    'device.attributes["topology.example.com"].root == "pci0"',
    f'"{DOMAIN}" in device.attributes',
    f'"model" in device.attributes["{DOMAIN}"]',
    f"has({own('model')})",
    f"!has({own('colour')})",
    '!has(device.attributes["unknown.example.com"].model)',
    "!device.allowMultipleAllocations",
    f'{own("?colour")}.orValue("none") == "none"',
    f'device.attributes["{DOMAIN}"][?"model"].hasValue()',
    # quantities
    f'{MEMORY} == quantity("40Gi")',
    f'{MEMORY}.compareTo(quantity("40Gi")) == 0',
    f'{MEMORY}.isGreaterThan(quantity("39999Mi"))',
    f'{MEMORY}.isLessThan(quantity("41Gi"))',
    f"{MEMORY}.asInteger() == 42949672960",
    f'{MEMORY}.add(quantity("24Gi")) == quantity("64Gi")',
    f"{MEMORY}.sub(quantity('50Gi')).sign() == -1",
    f'device.capacity["{DOMAIN}"].share.asApproximateFloat() == 0.5',
    f'!device.capacity["{DOMAIN}"].share.isInteger()',
    'isQuantity("1500m") && !isQuantity("many")',
    'quantity("0.5") == quantity("500m") && quantity("1e3") == quantity("1k")',
    'quantity("1").add(2).asInteger() == 3',
    # versions
    f'{own("firmware")}.isGreaterThan(semver("12.4.0"))',
    f'{own("firmware")}.isLessThan(semver("12.4.1"))',
    f"{own('firmware')}.major() == 12 && {own('firmware')}.minor() == 4 && {own('firmware')}.patch() == 1",
    'semver("1.0.0-alpha").compareTo(semver("1.0.0-alpha.1")) < 0',
    'semver("1.0.0-2").isLessThan(semver("1.0.0-10"))',
    'semver("1.2.3+a") == semver("1.2.3+b")',
    'isSemver("1.2.3") && !isSemver("1.2") && !isSemver("v1.2.3")',
    'semver("v1.2", true) == semver("1.2.0")',
    # text
    f'{own("model")}.startsWith("A") && {own("model")}.endsWith("00") && {own("model")}.contains("10")',
    f'{own("model")}.matches("^[AH][0-9]+$")',
    f'{own("model")}.lowerAscii() == "a100"',
    '"a,b,c".split(",") == ["a", "b", "c"]',
    '["a", "b"].join("-") == "a-b"',
    '" x ".trim() == "x" && "aba".replace("a", "c") == "cbc" && "abc".substring(1) == "bc"',
    '"abc".indexOf("c") == 2 && "abc".charAt(0) == "a" && size("abc") == 3',
    r'"\u00e4" == "ä" && r"\d" == "\\d"',
    # logic, also where a part fails
    f'{own("colour")} == "red" || true',
    f'!({own("colour")} == "red" && false)',
    'true ? 1 == 1 : 1 / 0 == 1',
    "[1, 2, 3].exists(x, 1 / (x - 1) == 1)",
    # lists and maps
    "[1, 2, 3].all(x, x > 0) && [1, 2, 3].exists_one(x, x == 2)",
    "[1, 2, 3].map(x, x * 2) == [2, 4, 6] && [1, 2, 3].filter(x, x > 1) == [2, 3]",
    "[3, 1].min() == 1 && [3, 1].sum() == 4 && ![3, 1].isSorted()",
    '{"a": 1, "b": [2]}["b"][0] == 2',
    f'cel.bind(gpu, device.attributes["{DOMAIN}"], gpu.model == "A100" && gpu.cores == 108)',
    '"A100" in ["H100", "A100"]',
    # numbers
    "1 + 2 * 3 - 4 / 2 == 5 && -7 / 2 == -3 && -7 % 2 == -1",
    "1 == 1.0 && 2u == 2 && 1 < 1.5",
    'int("12") == 12 && string(12) == "12" && double("1.5") == 1.5 && 0x10 == 16',
    '!("1" == 1) && !(true == 1)',
]  # fmt: skip


@pytest.mark.parametrize("text", TRUE)
def test_expression_evaluates_to_true(text: str) -> None:
    assert evaluate(text) is True


EVALUATION_ERRORS = {
    own("colour"): "no such key: colour",
    "device.colour": "no such key: colour",
    'device.attributes["unknown.example.com"].model': "no such key: model",
    '"a" + 1': "no such overload: string + int",
    "1 / 0": "division by zero",
    "9223372036854775807 + 1": "does not fit into 64 bits",
    "[1][1]": "no such index: 1",
    '"a" < 1': "no such overload: string < int",
    "1 && true": "expected bool, got int",
    'quantity("many")': "'many' is not a quantity",
    'semver("1")': "'1' is not a semantic version",
    '"a".major()': "string has no method major",
    '"a".matches("(")': "missing ): (",
    r'"a".matches("(a)\\1")': "invalid escape sequence",
    '"a".matches("(?=a)")': "invalid perl operator",
}


@pytest.mark.parametrize("text", EVALUATION_ERRORS)
def test_evaluation_error(text: str) -> None:
    with pytest.raises(EvaluationError, match=re.escape(EVALUATION_ERRORS[text])):
        evaluate(text)


def test_predicate_must_be_boolean() -> None:
    with pytest.raises(EvaluationError, match="the result must be bool, not string"):
        CompiledExpression("device.driver", ("device",)).holds({"device": DEVICE})


COMPILE_ERRORS = {
    "": "expected a value, got the end",
    "device.driver =": "unexpected '=' at character 15",
    "claim.name": "undeclared reference to 'claim'; declared: device",
    "sum(1)": "undeclared reference to function 'sum'",
    "device.driver.reverse()": "undeclared reference to method 'reverse'",
    "has(device)": "has() takes one member selection",
    "(1": "expected ')', got the end",
    "'open": 'unexpected "\'" at character 1',
    "[1, 2].all(1, true)": "takes the name of a variable first",
    "if": "reserved word",
    "99999999999999999999": "is not a 64-bit integer",
    "(" * 50 + "1" + ")" * 50: "nest deeper than 40",
    "-" * 60 + "1": "signs in a row",
    "device" + ".a" * 60: "members in a row",
    "1 + " * 4000 + "1": "at most 10240 characters",
}


@pytest.mark.parametrize("text", COMPILE_ERRORS, ids=lambda text: text[:30])
def test_compile_error(text: str) -> None:
    with pytest.raises(CompileError, match=re.escape(COMPILE_ERRORS[text])):
        CompiledExpression(text, ("device",))


def test_long_chain_is_not_nested() -> None:
    assert evaluate("&&".join(["true"] * 1500)) is True
    assert evaluate("+".join(["1"] * 3000)) == 3000


def nested(depth: int) -> str:
    tens = "[1,2,3,4,5,6,7,8,9,10]"
    return "1 == 1" if not depth else f"{tens}.all(x{depth}, {nested(depth - 1)})"


@pytest.mark.parametrize("text", [nested(6), f'{own("model")}.matches("(a+)+b") || {nested(6)}'], ids=["loops", "both"])
def test_cost_limit_ends_evaluation(text: str) -> None:
    with pytest.raises(CostLimitExceeded, match="more than 100000 steps"):
        evaluate(text)


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(.*a){20}$", "(a?){30}a{30}$"])
def test_pattern_matches_in_bounded_time(pattern: str) -> None:
    start = time.process_time()
    evaluate(f'"{"a" * 60}b".matches("{pattern}") || true')
    assert time.process_time() - start < 5.0
