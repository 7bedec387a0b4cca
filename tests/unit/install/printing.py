"""Output of `stromboli manifests` as objects."""

from __future__ import annotations

from typing import Any, cast

from click.testing import CliRunner, Result

from stromboli.cli import main
from stromboli.kube.manifests.yaml import load_documents

Document = dict[str, Any]


def run(*arguments: str, given: str = "") -> Result:
    return CliRunner().invoke(main, ["manifests", *arguments], input=given)


def printed(*arguments: str, given: str = "") -> dict[str, Document]:
    """All printed objects, by kind and name."""
    result = run(*arguments, given=given)
    assert result.exit_code == 0, result.output
    return by_name(cast(list[Document], load_documents(result.stdout, "manifests")))


def by_name(documents: list[Document]) -> dict[str, Document]:
    found = {f"{each['kind']} {each['metadata']['name']}": each for each in documents}
    assert len(found) == len(documents), "something is printed twice"
    return found
