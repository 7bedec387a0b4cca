"""Past usage from a real Prometheus, as the Debian package installs it."""

from __future__ import annotations

import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.ports import free_ports
from tests.unit.external.test_past_usage_feed import NOW, Reader, source_of

pytestmark = pytest.mark.only("embedded", because="it needs no API server, and runs once")


@pytest.fixture
def prometheus(tmp_path: Path) -> Iterator[str]:
    """The address of a Prometheus with two GPUs of queue red for ten minutes, half an hour before now."""
    if not (shutil.which("prometheus") and shutil.which("promtool")):
        pytest.skip("prometheus is not installed")
    lines = [f'held{{queue="red",user="ana"}} 2 {NOW - 1800 + 15 * number}' for number in range(41)]
    (tmp_path / "samples").write_text("\n".join(["# TYPE held gauge", *lines, "# EOF", ""]))
    (tmp_path / "config.yml").write_text("{}")
    create = ["promtool", "tsdb", "create-blocks-from", "openmetrics", "samples", "data"]
    subprocess.run(create, cwd=tmp_path, check=True, capture_output=True, timeout=60)
    [port] = free_ports(1)
    address = f"127.0.0.1:{port}"
    options = ["--config.file=config.yml", "--storage.tsdb.path=data", "--storage.tsdb.retention.time=100y"]
    process = subprocess.Popen(
        ["prometheus", *options, f"--web.listen-address={address}"], cwd=tmp_path, stderr=subprocess.DEVNULL
    )
    try:
        _wait_until_ready(address)
        yield f"http://{address}"
    finally:
        process.kill()
        process.wait()


def _wait_until_ready(address: str) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            urllib.request.urlopen(f"http://{address}/-/ready", timeout=1).close()
        except (urllib.error.URLError, OSError):
            assert time.monotonic() < deadline, "Prometheus does not start"
            time.sleep(0.1)
        else:
            return


async def test_usage_is_read_from_prometheus_itself(prometheus: str) -> None:
    source = source_of(prometheus, **{"nvidia.com/gpu": "sum by (queue, user) (held)"})
    reader = Reader(source)
    reader.now = -reader.feed.source.interval
    await reader.read()
    assert reader.feed.health.problem == ""
    # The last sample counts for five minutes, as everywhere in Prometheus, or until a marker of staleness.
    assert reader.used("red", "ana") == pytest.approx(2 * (600 + 300), rel=0.02)
    reader.feed.source = source_of(prometheus, **{"nvidia.com/gpu": "sum by ("})
    await reader.read()
    assert "400" in reader.feed.health.problem
