"""The CustomResourceDefinitions of Volcano's kinds and of Stromboli's own, and their installation.

The YAML files lie beside this module, as an administrator would apply them. They keep Volcano's names, versions and
printed columns; rules of Volcano's webhook are part of the schema where a schema can express them.
"""

from __future__ import annotations

import asyncio
from importlib.resources import files
from typing import TYPE_CHECKING, Any, cast

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.manifests.yaml import load_documents
from stromboli.kube.objects.catalogue import CRDS

if TYPE_CHECKING:
    from stromboli.kube.client.client import Client

SERVED_TIMEOUT = 30.0
"""Time limit in seconds until the server serves the installed definitions."""
_NOT_YET = (404, 429, 503)


def crd_documents() -> list[dict[str, Any]]:
    """Return the definitions, sorted by name."""
    folder = files("stromboli.kube") / "crds"
    found = sorted((file for file in folder.iterdir() if file.name.endswith(".yaml")), key=lambda file: file.name)
    return [
        cast(dict[str, Any], document) for file in found for document in load_documents(file.read_text(), file.name)
    ]


async def install_crds(client: Client) -> None:
    """Install the definitions and wait until they are served. Definitions of other field managers are not changed."""
    documents = crd_documents()
    for document in documents:
        await _install(client, document)
    async with asyncio.timeout(SERVED_TIMEOUT):
        for document in documents:
            await _until_served(client, document)


async def _install(client: Client, document: dict[str, Any]) -> None:
    from stromboli.kube.client.client import PatchKind

    try:
        await client.patch(CRDS, document["metadata"]["name"], document, kind=PatchKind.APPLY)
    except ApiError as error:
        if not error.is_conflict:
            raise


async def _until_served(client: Client, document: dict[str, Any]) -> None:
    name, pause = document["metadata"]["name"], 0.02
    while not ((await client.get(CRDS, name)).is_established and await _is_listed(client, document["spec"])):
        await asyncio.sleep(pause)
        pause = min(pause * 2, 1.0)


async def _is_listed(client: Client, definition: dict[str, Any]) -> bool:
    """An established definition may need another moment until its paths are served."""
    version, plural = definition["versions"][0]["name"], definition["names"]["plural"]
    try:
        await client.request("GET", f"/apis/{definition['group']}/{version}/{plural}", params={"limit": "1"})
    except ApiError as error:
        if error.status in _NOT_YET:
            return False
        raise
    return True
