"""The API server of the tests: the embedded one, or a real one (see tests/conftest.py)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import pytest

from testbed.assets import NoAssets, assets
from testbed.embedded import embedded_plane
from testbed.plane import ControlPlane
from testbed.real import real_plane

SERVER = os.environ.get("STROMBOLI_API_SERVER", "embedded")


@contextlib.contextmanager
def fresh_plane(*flags: str, native_groups: bool = False) -> Iterator[ControlPlane]:
    """Start a new server without the CRDs of Volcano: a real one with these additional flags, or the embedded one,
    optionally with native pod groups.
    """
    if SERVER == "embedded":
        with embedded_plane(bare=True, native_groups=native_groups) as started:
            yield started
        return
    try:
        found = assets()
    except NoAssets as missing:
        pytest.skip(str(missing))
    with real_plane(found, *flags) as started:
        yield started
