"""Every quantity has one canonical form of equal value."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli.local.api_server.quantities import amount_of, canonical, canonical_amounts

KEPT = [
    ("1", "1"), ("1000m", "1"), ("1024Mi", "1Gi"), ("0.1", "100m"), ("1e3", "1e3"), ("1.5Gi", "1536Mi"),
    ("1500Mi", "1500Mi"), ("1000k", "1M"), ("0m", "0"), ("00", "0"), ("1000000", "1M"), ("1.0005", "1001m"),
    ("100n", "1m"), ("1Ki", "1Ki"), ("0.5Ki", "512"), ("1024", "1024"), ("12e6", "12e6"), ("1000Ki", "1000Ki"),
    ("1.1Mi", "1153433600m"), ("1.5k", "1500"), ("9.5E", "9500P"), ("1e19", "10e18"), ("1e1", "10"), ("-2000m", "-2"),
    (1, "1"), (2.5, "2500m"), (4096, "4096"), ("12345678901234567890", "12345678901234567890"),
]  # fmt: skip


@pytest.mark.parametrize(("amount", "text"), KEPT, ids=[str(case[0]) for case in KEPT])
def test_canonical_form(amount: str | float, text: str) -> None:
    assert canonical(amount) == text


NONE = [
    ("", "regular expression"), ("abc", "regular expression"), ("1 Gi", "regular expression"),
    ("1kk", "suffix"), ("1ki", "suffix"), ("1.2.3", "numeric"), ("1e99", "numeric"), ("9" * 50, "numeric"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "problem"), NONE)
def test_invalid_quantity_raises(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        canonical(text)


@given(st.integers(0, 10**6), st.sampled_from(["", "m", "k", "M", "Ki", "Mi", "Gi", "Ti", "e3", "e-3", ".5Gi", ".25"]))
def test_canonical_form_is_equal_and_idempotent(number: int, suffix: str) -> None:
    kept = canonical(f"{number}{suffix}")
    assert amount_of(kept) == amount_of(f"{number}{suffix}")
    assert canonical(kept) == kept


def test_canonical_map_is_returned_unchanged() -> None:
    amounts = {"cpu": "1", "memory": "2Gi"}
    assert canonical_amounts(amounts) is amounts
    assert canonical_amounts({"cpu": 1, "memory": "2048Mi"}) == amounts
