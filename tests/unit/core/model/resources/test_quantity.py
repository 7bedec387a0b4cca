"""Quantities are exact: every case is integer arithmetic, however unusual the text."""

import math
import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli.core.model.resources.quantity import LIMIT, QuantityError, format_quantity, parse_quantity

ACCEPTED = [
    # text            units        milli-units
    ("0", 0, 0),
    ("-0", 0, 0),
    ("1", 1, 1000),
    ("+2", 2, 2000),
    ("1.", 1, 1000),
    (".5", 1, 500),
    ("1.5", 2, 1500),
    ("007", 7, 7000),
    ("500m", 1, 500),
    ("0.1m", 1, 1),
    ("1n", 1, 1),
    ("1001u", 1, 2),
    ("3k", 3000, 3_000_000),
    ("1.5Gi", 1536 * 2**20, 1_536_000 * 2**20),
    (".5Ki", 512, 512_000),
    ("1e3", 1000, 1_000_000),
    ("1E3", 1000, 1_000_000),
    ("1E-3", 1, 1),
    ("25e-1", 3, 2500),
    ("1.5e+1", 15, 15_000),
    ("0e999999999", 0, 0),
    ("1e-999999999", 1, 1),
    (4, 4, 4000),
    (0.1, 1, 100),
    (1.5, 2, 1500),
    (1e-300, 1, 1),
]

REFUSED = [
    ("negative", "-1", "is negative"),
    ("a negative number", -1, "is negative"),
    ("a negative float", -0.5, "is negative"),
    ("empty", "", "is not a quantity"),
    ("only a suffix", "Gi", "is not a quantity"),
    ("only a dot", ".", "is not a quantity"),
    ("not a number", "NaN", "is not a quantity"),
    ("infinite text", "inf", "is not a quantity"),
    ("float nan", math.nan, "is not a quantity"),
    ("float infinity", math.inf, "is not a quantity"),
    ("boolean", True, "not a boolean"),
    ("list", [1], "not a list"),
    ("two dots", "1.1.1", "is not a quantity"),
    ("space before", " 1", "is not a quantity"),
    ("space after", "1 ", "unknown suffix"),
    ("newline", "1\n", "unknown suffix"),
    ("bytes as people say it", "4GB", "unknown suffix"),
    ("capital K", "4K", "unknown suffix"),
    ("lower-case e alone", "1e", "unknown suffix"),
    ("exponent without digits", "1e+", "unknown suffix"),
    ("exponent and suffix", "1e3Mi", "unknown suffix"),
    ("fractional exponent", "1e1.5", "unknown suffix"),
    ("other digits", "٣", "is not a quantity"),
    ("exa is too much", "2E", "larger than anything"),
    ("far too much", "1e30", "larger than anything"),
    ("a number far too much", 10**30, "larger than anything"),
    ("a float far too much", 1e300, "larger than anything"),
]

HOSTILE = [
    "1e200000",
    "1E99999999999999999999",
    "1e-999999999",
    "9" * 64,
    "1" * 10_000_000,
    10**4000,
    "." * 64,
    "+" * 64,
]

SUFFIXES = {"n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1)}
SUFFIXES |= {name: Fraction(1000**power) for power, name in enumerate("kMGTPE", 1)}
SUFFIXES |= {f"{name}i": Fraction(1024**power) for power, name in enumerate("KMGTPE", 1)}
SUFFIXES |= {f"e{power}": Fraction(10) ** power for power in range(-20, 20)}

FORMATTED = [
    ("nothing", 0, False, False, "0"),
    ("whole cpus", 2000, True, False, "2"),
    ("part of a cpu", 1500, True, False, "1500m"),
    ("many cpus", 16_000_000, True, False, "16k"),
    ("bytes", 4 * 2**30, False, True, "4Gi"),
    ("uneven gibibytes", 1536 * 2**20, False, True, "1536Mi"),
    ("odd bytes", 1025, False, True, "1025"),
    ("few bytes", 1000, False, True, "1k"),
    ("a fraction of a byte", 1_048_576_500, True, True, "1048576500m"),
    ("a deficit", -1500, True, False, "-1500m"),
]


def verdict(text: str | float) -> str:
    """Return the amount, or the message of the error. Any other exception is a failure."""
    try:
        return str(parse_quantity(text, milli=True))
    except QuantityError as refusal:
        return str(refusal)


@pytest.mark.parametrize(("text", "units", "milli"), ACCEPTED, ids=lambda value: repr(value))
def test_accepted(text: str | float, units: int, milli: int) -> None:
    assert parse_quantity(text, milli=False) == units
    assert parse_quantity(text, milli=True) == milli


@pytest.mark.parametrize(("text", "words"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_invalid_text_is_rejected_with_a_message(text: str | float, words: str) -> None:
    with pytest.raises(QuantityError, match=words):
        parse_quantity(text, milli=True)


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: str(text)[:12] if isinstance(text, str) else "huge int")
def test_hostile_text_costs_no_time(text: str | int) -> None:
    start = time.process_time()
    assert len(verdict(text)) < 200
    assert time.process_time() - start < 0.5


def test_the_limit_itself_is_accepted() -> None:
    assert parse_quantity("1Ei", milli=False) == LIMIT
    with pytest.raises(QuantityError, match="larger than anything"):
        parse_quantity(str(LIMIT + 1), milli=False)


@given(
    st.integers(0, 10**24),
    st.one_of(st.none(), st.text("0123456789", max_size=24)),
    st.sampled_from(sorted(SUFFIXES)),
    st.booleans(),
)
def test_equals_exact_fractions(whole: int, decimals: str | None, suffix: str, milli: bool) -> None:
    number = str(whole) if decimals is None else f"{whole}.{decimals}"
    exact = Fraction(f"{whole}.{decimals or '0'}") * SUFFIXES[suffix] * (1000 if milli else 1)
    expected = math.ceil(exact)
    if expected > LIMIT:
        with pytest.raises(QuantityError, match="larger than anything"):
            parse_quantity(number + suffix, milli=milli)
    else:
        assert parse_quantity(number + suffix, milli=milli) == expected


@given(st.text(max_size=70))
def test_any_text_is_an_amount_or_an_error(text: str) -> None:
    assert verdict(text).isprintable()


@pytest.mark.parametrize(
    ("value", "milli", "binary", "text"),
    [case[1:] for case in FORMATTED],
    ids=[case[0] for case in FORMATTED],
)
def test_formatted(value: int, milli: bool, binary: bool, text: str) -> None:
    assert format_quantity(value, milli=milli, binary=binary) == text


@given(st.integers(0, LIMIT), st.booleans(), st.booleans())
def test_round_trip(value: int, milli: bool, binary: bool) -> None:
    assert parse_quantity(format_quantity(value, milli=milli, binary=binary), milli=milli) == value


@given(st.integers(0, 1023), st.integers(0, 5), st.booleans())
def test_round_trip_of_even_amounts(count: int, power: int, milli: bool) -> None:
    value = min(count * 1024**power, LIMIT)
    assert parse_quantity(format_quantity(value, milli=milli, binary=True), milli=milli) == value
