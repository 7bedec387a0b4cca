"""Kubernetes quantities ("500m", "4Gi", "1e3") as exact integers.

Floats would drift, so every amount is converted to an integer on input: milli-units for what is shared in fractions
(cpu, devices), plain units for what is counted (bytes, pods). Fractions are rounded up, as the API's own MilliValue()
and Value() do: a small request never becomes zero.

The text is untrusted input. Length and exponent are bounded before any number is built, so that "1e200000" costs no
more than "1".
"""

import math
import re
from functools import lru_cache

LIMIT = 2**60
"""The largest amount accepted, in the requested unit: sums of several still fit into 64 bits."""

LONGEST = 64
"""The most characters a quantity may have."""

_GRAMMAR = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+)|([^0-9.+-].*)?)", re.DOTALL)
_DECIMAL_SUFFIXES = ("", "k", "M", "G", "T", "P", "E")
_BINARY_SUFFIXES = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_POWERS_OF_TEN = {"n": -9, "u": -6, "m": -3} | {name: 3 * step for step, name in enumerate(_DECIMAL_SUFFIXES)}
_POWERS_OF_TWO = {name: 10 * step for step, name in enumerate(_BINARY_SUFFIXES)}

# Sixty-four digits times 2**60 stay below 10**83: from here on the exponent alone decides the answer.
_CERTAINLY_TOO_LARGE = 64
_CERTAINLY_BELOW_ONE = -128


class QuantityError(ValueError):
    """The text is not a valid amount; the message describes the problem and what to write."""


def parse_quantity(text: str | int | float, *, milli: bool) -> int:
    """Parse an amount into milli-units or units, rounded up; numbers from YAML and JSON are accepted too."""
    if type(text) is str:
        if len(text) > LONGEST:
            raise QuantityError(f"a quantity has at most {LONGEST} characters, not {len(text)}")
        return _parse_text(text, milli)
    return _parse_number(text, milli)


def format_quantity(value: int, *, milli: bool, binary: bool = False) -> str:
    """Format an amount canonically: no fraction, the largest suffix without loss ("1500m", "2", "4Gi", "16k").

    `binary` selects Ki, Mi, Gi…; amounts below 1024 or with a fraction stay decimal, as the API prints them.
    """
    if value < 0:
        return "-" + format_quantity(-value, milli=milli, binary=binary)
    whole, fraction = divmod(value, 1000) if milli else (value, 0)
    if fraction:
        return f"{value}m"
    if binary and whole >= 1024:
        return _with_suffix(whole, 1024, _BINARY_SUFFIXES)
    return _with_suffix(whole, 1000, _DECIMAL_SUFFIXES)


def rounded_bytes(value: int) -> str:
    """Format bytes with one decimal, rounded down: `31.2Gi`."""
    step = min((value.bit_length() - 1) // 10, len(_BINARY_SUFFIXES) - 1) if value > 0 else 0
    tenths = value * 10 >> 10 * step
    whole, tenth = divmod(tenths, 10)
    return f"{whole}.{tenth}{_BINARY_SUFFIXES[step]}" if tenth else f"{whole}{_BINARY_SUFFIXES[step]}"


def _with_suffix(whole: int, base: int, suffixes: tuple[str, ...]) -> str:
    step = 0
    while whole and whole % base == 0 and step + 1 < len(suffixes):
        whole //= base
        step += 1
    return f"{whole}{suffixes[step]}"


def _parse_number(number: object, milli: bool) -> int:
    """Convert a number: integers are exact; a float means its shortest decimal representation."""
    if isinstance(number, bool) or not isinstance(number, int | float):
        kind = "boolean" if isinstance(number, bool) else type(number).__name__
        raise QuantityError(f"a quantity is text or a number, not a {kind}; write for example 500m, 2 or 4Gi")
    if isinstance(number, float):
        if not math.isfinite(number):
            raise QuantityError(f"{number} is not a quantity; write a finite number")
        return _parse_text(repr(number), milli)
    return _bounded(number, 3 if milli else 0, 0, "the number")


@lru_cache(maxsize=16384)
def _parse_text(text: str, milli: bool) -> int:
    """Parse a text. A cluster uses few distinct quantities, so the cache makes parsing nearly free."""
    shown = f'"{text}"' if text.isprintable() else ascii(text)
    match = _GRAMMAR.fullmatch(text)
    digits = (match[2] + (match[3] or "")) if match else ""
    if match is None or not digits:
        raise QuantityError(f"{shown} is not a quantity; write a number and a suffix, as in 500m, 2, 1.5 or 4Gi")
    power, shift = _scale(match[4], match[5] or "", shown)
    power += (3 if milli else 0) - len(match[3] or "")
    return _bounded(-int(digits) if match[1] == "-" else int(digits), power, shift, shown)


def _scale(exponent: str | None, suffix: str, shown: str) -> tuple[int, int]:
    """Return the powers of ten and of two of an exponent or a suffix."""
    if exponent is not None:
        return int(exponent), 0
    if suffix in _POWERS_OF_TEN:
        return _POWERS_OF_TEN[suffix], 0
    if suffix in _POWERS_OF_TWO:
        return 0, _POWERS_OF_TWO[suffix]
    raise QuantityError(f"{shown} has an unknown suffix; use one of n u m k M G T P E or Ki Mi Gi Ti Pi Ei")


def _bounded(mantissa: int, power: int, shift: int, shown: str) -> int:
    """Return mantissa * 10**power * 2**shift, rounded up, without building a number much larger than the result."""
    if mantissa < 0:
        raise QuantityError(f"{shown} is negative; a quantity is zero or more")
    if mantissa == 0:
        return 0
    if power < _CERTAINLY_BELOW_ONE:
        return 1
    if power > _CERTAINLY_TOO_LARGE or (value := _rounded_up(mantissa << shift, power)) > LIMIT:
        raise QuantityError(f"{shown} is larger than anything a cluster can hold; write a smaller amount")
    return value


def _rounded_up(mantissa: int, power: int) -> int:
    if power >= 0:
        return mantissa * int(10**power)
    return -(-mantissa // int(10**-power))
