"""The bill of materials lists exactly what is locked, and is reproducible."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import UUID

from stromboli import __version__
from tests.unit.install.image import stages

ROOT = Path(__file__).parents[3]
LOCK = (ROOT / "requirements" / "runtime.lock").read_text(encoding="utf-8")


def printed(folder: Path = ROOT) -> str:
    """By a process of its own, from any folder."""
    command = [sys.executable, str(ROOT / "tools" / "sbom.py")]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


@cache
def bill() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(printed())
    return document


def test_document_names_its_format_and_subject() -> None:
    assert (bill()["bomFormat"], bill()["specVersion"], bill()["version"]) == ("CycloneDX", "1.6", 1)
    assert UUID(bill()["serialNumber"].removeprefix("urn:uuid:"))


def test_it_is_about_this_version() -> None:
    us = bill()["metadata"]["component"]
    assert (us["type"], us["name"], us["version"]) == ("application", "stromboli", __version__)
    assert us["purl"] == us["bom-ref"] == f"pkg:pypi/stromboli@{__version__}"
    assert us["licenses"] == [{"expression": "Apache-2.0"}]


def test_every_locked_package_is_there_with_its_hashes() -> None:
    """The lock read in another way: line by line."""
    hashes: dict[str, set[str]] = {}
    name = ""
    for line in LOCK.splitlines():
        if found := re.match(r"([a-z0-9-]+)==([^ ]+)", line):
            name = f"{found[1]}@{found[2]}"
        elif "--hash=sha256:" in line:
            hashes.setdefault(name, set()).add(line.strip(" \\").removeprefix("--hash=sha256:"))
    listed = {
        f"{part['name']}@{part['version']}": {each["content"] for each in part["hashes"]}
        for part in bill()["components"]
    }
    assert listed == hashes
    assert len(listed) > 20
    assert {each["alg"] for part in bill()["components"] for each in part["hashes"]} == {"SHA-256"}


def test_every_part_has_what_tools_look_for() -> None:
    for part in bill()["components"]:
        assert part["type"] == "library"
        assert part["purl"] == part["bom-ref"] == f"pkg:pypi/{part['name']}@{part['version']}"
        assert part["scope"] == "excluded" or part["licenses"]


def test_packages_for_other_pythons_are_marked_as_excluded() -> None:
    running = {f"{part['name']}@{part['version']}" for part in bill()["components"] if part["scope"] == "required"}
    assert {f"{name}@{version(name)}" for name in ("aiohttp", "numpy", "pyyaml")} <= running
    assert len({name.partition("@")[0] for name in running}) == len(running)


def test_every_required_package_has_a_dependent() -> None:
    needs = {entry["ref"]: entry["dependsOn"] for entry in bill()["dependencies"]}
    seen: set[str] = set()
    asked = [bill()["metadata"]["component"]["bom-ref"]]
    while asked:
        seen.add(name := asked.pop())
        asked += [other for other in needs[name] if other not in seen]
    assert seen == needs.keys()


def test_it_is_the_same_every_time_and_everywhere(tmp_path: Path) -> None:
    assert printed(tmp_path) == printed()


def test_the_image_has_the_bill_of_what_is_in_it() -> None:
    """Created by the Python of the image, after the installation and before the build tools are removed."""
    (environment,) = [stage for stage in stages() if stage.name == "environment"]
    commands = environment.of("RUN")
    (place,) = [place for place, command in enumerate(commands) if "sbom.py" in command]
    assert commands[place] == "/opt/stromboli/bin/python tools/sbom.py > /opt/stromboli/sbom.cdx.json"
    installs = [place for place, command in enumerate(commands) if " pip install " in command]
    assert max(installs) < place
