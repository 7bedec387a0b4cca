"""Quantities: their canonical form (`1000m` is `1`, `0.1` is `100m`), and their value."""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, ROUND_UP, Decimal
from functools import lru_cache
from typing import Any

_RULE = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
_NUMBER_AND_SUFFIX = re.compile(_RULE)
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)")
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]{1,2})")
_TENS = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_SUFFIXES = {power: suffix for suffix, power in _TENS.items()}
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_THOUSANDTHS = 1000
_MAX_POWER = 18
_LONGEST = 40
_AMOUNT = re.compile(r"\+?([0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE]([+-]?[0-9]{1,2})|([numkMGTPE]|[KMGTPE]i)?)")
_MAX_AMOUNT_LENGTH = 64
#: Amounts are integers of this fraction of one.
UNIT = 10**9


@lru_cache(maxsize=8192, typed=True)
def canonical(amount: str | int | float) -> str:
    """The canonical form of an amount, rounded up to the thousandth. Raises ValueError for an invalid quantity."""
    text = str(amount)
    match = _NUMBER_AND_SUFFIX.fullmatch(text)
    if match is None:
        raise ValueError(f"quantities must match the regular expression '{_RULE}'")
    number, suffix = match[1], match[2]
    if len(number) > _LONGEST or not _NUMBER.fullmatch(number):
        raise ValueError("unable to parse numeric part of quantity")
    if suffix in _BINARY[1:]:
        return _binary(_thousandths(Decimal(number) * 1024 ** _BINARY.index(suffix)))
    if (exponent := _EXPONENT.fullmatch(suffix)) is not None:
        return _with_exponent(_thousandths(Decimal(number).scaleb(int(exponent[1]))))
    if suffix not in _TENS:
        raise ValueError("unable to parse quantity's suffix")
    return _decimal(_thousandths(Decimal(number).scaleb(_TENS[suffix])))


def _thousandths(value: Decimal) -> int:
    if value.adjusted() > _LONGEST:
        raise ValueError("unable to parse numeric part of quantity")
    return int((value * _THOUSANDTHS).to_integral_value(ROUND_UP))


def _decimal(thousandths: int) -> str:
    number, power = _shortened(thousandths)
    return f"{number}{_SUFFIXES[power]}"


def _with_exponent(thousandths: int) -> str:
    number, power = _shortened(thousandths)
    return f"{number}e{power}" if power else str(number)


def _shortened(thousandths: int) -> tuple[int, int]:
    """The shortest integer mantissa, and its power of ten."""
    if not thousandths:
        return 0, 0
    power = -3
    while power < _MAX_POWER and thousandths % 1000 == 0:
        thousandths //= 1000
        power += 3
    return thousandths, power


def _binary(thousandths: int) -> str:
    """Fractions of a byte, and amounts below a kibibyte, use the decimal form."""
    number, rest = divmod(thousandths, _THOUSANDTHS)
    if rest or abs(number) < 1024:
        return _decimal(thousandths)
    step = 0
    while step < len(_BINARY) - 1 and number % 1024 == 0:
        number //= 1024
        step += 1
    return f"{number}{_BINARY[step]}"


def canonical_amounts(amounts: Any) -> Any:
    """A map of amounts in canonical form; the same map if it already is."""
    if not isinstance(amounts, dict):
        return amounts
    try:
        kept = {name: canonical(amount) for name, amount in amounts.items()}
    except TypeError as error:
        raise ValueError(f"quantities must match the regular expression '{_RULE}'") from error
    return amounts if kept == amounts else kept


@lru_cache(maxsize=4096)
def amount_of(text: str | int | float) -> int:
    """A quantity in billionths, rounded up. Raises ValueError for an invalid one."""
    if len(str(text)) > _MAX_AMOUNT_LENGTH or (match := _AMOUNT.fullmatch(str(text))) is None:
        raise ValueError(f"{str(text)[:_MAX_AMOUNT_LENGTH]!r} is not a quantity")
    number, exponent, suffix = Decimal(match[1]), match[2], match[3] or ""
    if suffix.endswith("i"):
        number *= 1024 ** ("KMGTPE".index(suffix[0]) + 1)
    else:
        number = number.scaleb(int(exponent) if exponent else _TENS.get(suffix, 0))
    return int((number * UNIT).to_integral_value(ROUND_CEILING))
