"""The settings of the documentation site that depend on the checkout."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tools.site import repository_page, settings

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("remote", "page"),
    [
        pytest.param(
            "https://git.example.com/team/stromboli.git", "https://git.example.com/team/stromboli", id="https"
        ),
        pytest.param("http://git.example.com:8080/s", "http://git.example.com:8080/s", id="port"),
        pytest.param("https://me:secret@git.example.com/s.git", "https://git.example.com/s", id="credentials"),
        pytest.param("git@git.example.com:team/stromboli.git", "", id="ssh"),
        pytest.param("/srv/git/stromboli", "", id="path"),
        pytest.param("", "", id="no remote"),
    ],
)
def test_repository_page_is_the_web_address_of_the_remote(remote: str, page: str) -> None:
    assert repository_page(remote) == page


def test_settings_have_version_and_link() -> None:
    text = (ROOT / "zensical.toml").read_text(encoding="utf-8")
    project = tomllib.loads(settings(text, "1.2.3", "https://git.example.com/team/stromboli"))["project"]
    assert "1.2.3" in project["copyright"]
    assert (project["repo_url"], project["repo_name"]) == ("https://git.example.com/team/stromboli", "team/stromboli")
    assert project["nav"] == tomllib.loads(text)["project"]["nav"]


def test_settings_without_remote_have_no_link() -> None:
    project = tomllib.loads(settings("[project]\n", "1.2.3", ""))["project"]
    assert "repo_url" not in project
