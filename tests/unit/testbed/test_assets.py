"""Binaries of the control plane, with a Go that takes a moment and counts its builds."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from testbed import assets

GO = """#!/bin/sh
echo built >> "{log}"
sleep 0.2
for argument; do case "$argument" in -o=*) echo binary > "${{argument#-o=}}";; esac; done
"""


@pytest.fixture
def builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The log of the builds."""
    log = tmp_path / "log"
    go = tmp_path / "bin" / "go"
    go.parent.mkdir()
    go.write_text(GO.format(log=log))
    go.chmod(0o755)
    monkeypatch.setenv("PATH", f"{go.parent}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("KUBEBUILDER_ASSETS", "TEST_ASSET_ETCD"):
        monkeypatch.delenv(name, raising=False)
    return log


def test_binary_that_several_need_at_once_is_built_once(builds: Path) -> None:
    found: list[Path] = []
    needing = [threading.Thread(target=lambda: found.append(assets.find("etcd"))) for _ in range(3)]
    for thread in needing:
        thread.start()
    for thread in needing:
        thread.join()
    assert [path.read_text() for path in found] == ["binary\n"] * 3
    assert builds.read_text() == "built\n"


def test_named_binary_is_used_without_a_build(builds: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_ASSET_ETCD", "/opt/etcd")
    assert assets.find("etcd") == Path("/opt/etcd")
    assert not builds.exists()
