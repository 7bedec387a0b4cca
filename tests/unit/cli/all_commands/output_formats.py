"""What holds for the output formats of every command."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import yaml
from click.testing import Result

FORMATS = ("table", "wide", "json", "yaml", "name")
#: `kind.group/namespace/name`, `kind/name`, or the name of something that is no Kubernetes object.
_NAME = re.compile(r"[a-z]+(\.[a-z0-9.]+)?(/[A-Za-z0-9.<>-]+){1,3}|[A-Z][A-Za-z]+")


def assert_formats_agree(results: Mapping[str, Result]) -> None:
    """Check the results of one command by format."""
    assert set(results) >= set(FORMATS)
    assert len({result.exit_code for result in results.values()}) == 1
    data = json.loads(results["json"].stdout)
    documents = list(yaml.load_all(results["yaml"].stdout, Loader=yaml.CSafeLoader))
    assert data == documents[0] or data["items"] == documents
    names = results["name"].stdout.splitlines()
    assert names
    assert not [name for name in names if not _NAME.fullmatch(name)]
    assert columns(results["wide"]) >= columns(results["table"])
    assert len(results["wide"].stdout) > len(results["table"].stdout)


def columns(result: Result) -> set[str]:
    """Return the titles of all columns of all tables."""
    headers = (line for line in result.stdout.splitlines() if line.strip() and line == line.upper())
    return {title for line in headers for title in re.split(r" {2,}", line.strip()) if re.fullmatch("[A-Z ./]+", title)}
