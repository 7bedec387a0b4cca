"""Rules of the Dockerfile, checked without a container engine."""

from __future__ import annotations

import fnmatch
import json
import re
import subprocess

import pytest

from stromboli.install.workloads import USER
from tests.unit.install.image import ROOT, instructions, stages

FINAL = stages()[-1]


def test_base_image_is_pinned_and_configurable() -> None:
    first = instructions()[0]
    assert first.word == "ARG"
    assert re.fullmatch(r"BASE=python:3\.11-slim-\w+", first.rest)
    assert {stage.base for stage in stages()} == {"${BASE}"}


def test_last_stage_only_copies() -> None:
    assert [stage.name for stage in stages()] == ["package", "environment", ""]
    assert FINAL.of("RUN") == []
    assert FINAL.of("COPY") == ["--from=environment /opt/stromboli /opt/stromboli"]


def test_dockerfile_downloads_nothing() -> None:
    words = {each.word for each in instructions()}
    assert "ADD" not in words
    assert not [each.rest for each in instructions() if re.search(r"https?://|\bcurl\b|\bwget\b|apt-get", each.rest)]


def test_installed_packages_are_locked_with_hashes() -> None:
    commands = [command for stage in stages() for command in stage.of("RUN") if " pip install " in command]
    assert len(commands) == 3
    for command in commands:
        assert "--require-hashes" in command or "--no-index --no-deps" in command, command


@pytest.mark.parametrize("lock", ["build.lock", "runtime.lock"])
def test_runtime_lock_agrees_with_development_lock(lock: str) -> None:
    """The image contains the dependencies that the tests run with."""

    def pins(name: str) -> set[str]:
        return set(re.findall(r"^[\w.-]+==[^ ;]+", (ROOT / "requirements" / name).read_text(), re.MULTILINE))

    assert pins(lock)
    assert pins(lock) <= pins("dev.lock")


def test_image_user_is_unprivileged() -> None:
    assert FINAL.of("USER") == [f"{USER}:{USER}"]


def test_entrypoint_is_the_command() -> None:
    (entry,) = FINAL.of("ENTRYPOINT")
    assert json.loads(entry) == ["stromboli"]
    environment = " ".join(FINAL.of("ENV"))
    assert "PATH=/opt/stromboli/bin:$PATH" in environment
    assert "PYTHONUNBUFFERED=1" in environment


LABELS = ("title", "description", "licenses", "version", "revision", "created")


def test_image_has_labels() -> None:
    (text,) = FINAL.of("LABEL")
    labels = dict(re.findall(r'org\.opencontainers\.image\.(\w+)="([^"]+)"', text))
    assert tuple(labels) == LABELS
    arguments = {each.partition("=")[0] for each in FINAL.of("ARG")}
    assert {value.strip("${}") for value in labels.values() if value.startswith("$")} == arguments


def test_copied_files_are_in_build_context() -> None:
    rules = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
    assert rules[0] == "*"
    kept = [rule[1:] for rule in rules if rule.startswith("!")]
    sources = [
        source
        for stage in stages()
        for copy in stage.of("COPY")
        if "--from=" not in copy
        for source in copy.split()[:-1]
    ]
    for source in sources:
        assert any(fnmatch.fnmatch(source, rule) for rule in kept), source
        assert (
            subprocess.run(["git", "ls-files", "--error-unmatch", source], cwd=ROOT, capture_output=True).returncode
            == 0
        )
