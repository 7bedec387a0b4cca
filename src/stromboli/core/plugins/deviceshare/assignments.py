"""The annotation that records the devices of a pod, as HAMi's device plugins read and write it.

A device is `id,type,memory,cores`, each followed by a colon; containers are separated by semicolons. An instance of a
device is in brackets after its id.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from stromboli.core.config.spelling import quoted
from stromboli.core.plugins.deviceshare.node_devices import Share, SharedDevice, Shares

_ENTRY = re.compile(r"([^,\[\]]+)(?:\[([^\[\],]*)\])?,([^,]*),(\d{1,15}),(\d{1,9})", re.ASCII)


def assigned(text: str, devices: Sequence[SharedDevice], key: str) -> Shares:
    """Parse an annotation. Devices that the node no longer has are left out.

    Raises ValueError for an unreadable text.
    """
    places = {device.id: place for place, device in enumerate(devices)}
    containers = text.split(";")
    return tuple(tuple(_shares_in(container, places, key)) for container in containers)


def _shares_in(text: str, places: dict[str, int], key: str) -> list[Share]:
    shares = []
    for entry in text.split(":"):
        if not entry.strip():
            continue
        found = _ENTRY.fullmatch(entry.strip())
        if found is None:
            raise ValueError(f"annotation {key}: expected id,type,memory,cores for each device, got {quoted(entry)}")
        identity, part, _, memory, cores = found.groups()
        if identity in places:
            shares.append(Share(places[identity], int(memory), int(cores), part or ""))
    return shares


def formatted(containers: Shares, devices: Sequence[SharedDevice], kind: Callable[[SharedDevice], str]) -> str:
    """The same the other way round."""
    return ";".join("".join(_written(share, devices[share.place], kind) for share in each) for each in containers)


def _written(share: Share, device: SharedDevice, kind: Callable[[SharedDevice], str]) -> str:
    instance = f"[{share.part}]" if share.part else ""
    return f"{device.id}{instance},{kind(device)},{share.memory},{share.cores}:"


def split_list(text: str) -> list[str]:
    """Split a text at commas."""
    return [word.strip() for word in text.split(",") if word.strip()]
