"""A tenth of the hostile objects of `python -m benchmarks hostile`, family by family, beside ordinary tenants."""

from __future__ import annotations

import pytest

from benchmarks.hostile import measured

pytestmark = pytest.mark.only("embedded", because="it needs no API server, and runs once")


def test_hostile_objects_of_every_family_do_not_hold_up_other_tenants() -> None:
    """The probe gang starts, cycles take at most twice as long, and memory is given back after the deletion."""
    exceeded = {found.family: found.exceeded for found in measured(500, 2_000, 0.1) if found.exceeded}
    assert exceeded == {}
