"""The local server has exactly the fields that the real one describes."""

import pytest

from stromboli.kube.fields.built_in import PLACE
from testbed.field_table import field_table
from testbed.plane import ControlPlane


@pytest.mark.only("real", because="it is the one that knows")
def test_table_of_fields_is_current(plane: ControlPlane) -> None:
    assert field_table(plane) == PLACE.read_text(), "make it anew: python -m testbed.field_table"
