"""The example package changes a plan, loaded by name and as an installed package."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from stromboli.core.config import registry as registry_module
from stromboli.core.config.configuration import ConfigurationError, parse_configuration
from stromboli.core.config.registry import PLUGIN_ENTRY_POINTS, Registry
from stromboli.core.session.program import Program
from stromboli.kube.manifests.manifests import read_manifests
from stromboli.planner.plan import make_plan
from stromboli.registry import built_in_registry

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "examples" / "plugin-package"
REFERENCE = "green_power:GreenPower"

#: Two nodes that differ only in the label; without the plugin the first by name is selected.
MANIFESTS = """\
apiVersion: v1
kind: Node
metadata: {name: coal}
status: {allocatable: {cpu: "8", memory: 32Gi}}
---
apiVersion: v1
kind: Node
metadata: {name: wind, labels: {power: green}}
status: {allocatable: {cpu: "8", memory: 32Gi}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {schedulerName: stromboli, containers: [{name: main, resources: {requests: {cpu: "1"}}}]}
"""
CONFIGURATION = """\
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: gang
  - name: nodeorder
  - name: green-power
    arguments: {green-power.weight: %s}
"""


@pytest.fixture
def manifests(tmp_path: Path) -> Path:
    path = tmp_path / "manifests.yaml"
    path.write_text(MANIFESTS)
    return path


@pytest.fixture
def on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(PACKAGE / "src")
    monkeypatch.delitem(sys.modules, "green_power", raising=False)


def node_of_web(registry: Registry, manifests: Path, weight: object) -> str:
    program = Program(parse_configuration(CONFIGURATION % weight, registry), registry)
    objects = read_manifests([str(manifests)]).objects
    return make_plan(objects, program, scheduler_names=["stromboli"]).binds["default/web"]


@pytest.mark.usefixtures("on_path")
@pytest.mark.parametrize(("weight", "node"), [(1, "wind"), (0.5, "wind"), (0, "coal")])
def test_plugin_by_option_changes_the_plan(manifests: Path, weight: float, node: str) -> None:
    assert node_of_web(built_in_registry([REFERENCE]), manifests, weight) == node


@pytest.mark.usefixtures("on_path")
def test_argument_of_plugin_is_validated() -> None:
    registry = built_in_registry([REFERENCE])
    with pytest.raises(ConfigurationError, match=r"'green-power\.weight'.*expected at least 0, got -1"):
        parse_configuration(CONFIGURATION % -1, registry)


@pytest.mark.usefixtures("on_path")
def test_plugin_by_entry_point_changes_the_plan(manifests: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def found(*, group: str) -> list[EntryPoint]:
        wanted = EntryPoint("green-power", REFERENCE, PLUGIN_ENTRY_POINTS)
        return [wanted] if group == PLUGIN_ENTRY_POINTS else []

    monkeypatch.setattr(registry_module, "entry_points", found)
    assert node_of_web(built_in_registry(), manifests, 1) == "wind"


def test_installed_plugin_is_available(manifests: Path, tmp_path: Path) -> None:
    """Build and install the package into a folder, without network."""
    installed, conf = tmp_path / "installed", tmp_path / "scheduler.conf"
    pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps"]
    options = ["--no-build-isolation", "--target", str(installed), str(PACKAGE)]
    subprocess.run([sys.executable, *pip, *options], check=True, timeout=120)
    conf.write_text(CONFIGURATION % 1)
    command = ["-m", "stromboli", "plan", "-f", str(manifests), "--conf", str(conf), "-o", "json"]
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    ran = subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["binds"] == {"default/web": "wind"}


def test_page_shows_the_source_of_the_plugin() -> None:
    source = (PACKAGE / "src" / "green_power" / "__init__.py").read_text()
    assert f"```python\n{source}```" in (ROOT / "docs" / "writing-plugins.md").read_text()
