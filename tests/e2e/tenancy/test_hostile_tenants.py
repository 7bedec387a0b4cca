"""A tenth of the hostile objects of `python -m benchmarks hostile`, family by family, beside ordinary tenants."""

from __future__ import annotations

import pytest

from benchmarks.hostile import measured
from benchmarks.hostile_families import FAMILIES

pytestmark = pytest.mark.only("embedded", because="it needs no API server, and runs once")


@pytest.mark.parametrize("family", FAMILIES)
def test_hostile_objects_do_not_hold_up_other_tenants(family: str) -> None:
    """The probe gang starts, cycles take at most twice as long, and memory is given back after the deletion."""
    [found] = measured(500, 2_000, 0.1, [family])
    assert found.exceeded == []
