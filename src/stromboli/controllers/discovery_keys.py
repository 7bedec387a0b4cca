"""The node labels that describe the network topology."""

from __future__ import annotations

import re
from dataclasses import dataclass

from stromboli.kube.objects.meta import SUBDOMAIN

#: Short names of labels.
SHORT_NAMES = {
    "region": "topology.kubernetes.io/region",
    "zone": "topology.kubernetes.io/zone",
    "block": "stromboli.dev/block",
    "rack": "stromboli.dev/rack",
    "host": "kubernetes.io/hostname",
}
DEFAULT_KEYS = "zone,block,rack"

_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_MAX_PREFIX = 253


class DiscoveryKeyError(ValueError):
    """Keys that are no labels, or not unique."""


@dataclass(frozen=True, slots=True)
class Key:
    """A label, and the name of the tier of its domains."""

    tier_name: str
    label: str
    #: The number of its topology.
    topology: int = 0


def parse_keys(text: str) -> tuple[Key, ...]:
    """Parse `zone,spine=example.com/spine,rack`: short names, labels, or named labels; the outermost first. A colon
    separates topologies.
    """
    topologies = enumerate(text.split(":"))
    keys = tuple(_key(part.strip(), number) for number, labels in topologies for part in labels.split(","))
    for what, values in (("label", [key.label for key in keys]), ("tier", [key.tier_name for key in keys])):
        twice = next((each for each in values if values.count(each) > 1), None)
        if twice is not None:
            remedy = "name it once" if what == "label" else f"give one of them another name: NAME={keys[-1].label}"
            raise DiscoveryKeyError(f"the {what} {twice} is there twice; {remedy}")
    return keys


def _key(text: str, topology: int) -> Key:
    name, values, label = text.partition("=")
    if not values:
        label = SHORT_NAMES.get(text, text)
        name = text if text in SHORT_NAMES else label.rpartition("/")[2]
    prefix, slash, last = label.rpartition("/")
    is_label = _NAME.fullmatch(last) and (not slash or (SUBDOMAIN.fullmatch(prefix) and len(prefix) <= _MAX_PREFIX))
    if not is_label or not _NAME.fullmatch(name):
        short_names = ", ".join(SHORT_NAMES)
        raise DiscoveryKeyError(
            f"{text!r} is no label; write {short_names}, a label such as example.com/rack, or NAME=LABEL"
        )
    return Key(name, label, topology)
