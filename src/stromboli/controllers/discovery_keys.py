"""Which labels of nodes say where they lie in the network."""

from __future__ import annotations

import re
from dataclasses import dataclass

#: Words for labels, so that nobody has to remember them.
WORDS = {
    "region": "topology.kubernetes.io/region",
    "zone": "topology.kubernetes.io/zone",
    "block": "stromboli.dev/block",
    "rack": "stromboli.dev/rack",
    "host": "kubernetes.io/hostname",
}
DEFAULT_KEYS = "zone,block,rack"

_PREFIX = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_LONGEST_PREFIX = 253


class DiscoveryKeyError(ValueError):
    """Keys that name no labels, or the same thing twice."""


@dataclass(frozen=True, slots=True)
class Key:
    """A label, and what the tier is called whose domains have its values in common."""

    tier_name: str
    label: str


def parse_keys(text: str) -> tuple[Key, ...]:
    """From `zone,spine=example.com/spine,rack`: words, labels, or labels with a name; the outermost first."""
    keys = tuple(_key(part.strip()) for part in text.split(","))
    for what, given in (("label", [key.label for key in keys]), ("tier", [key.tier_name for key in keys])):
        twice = next((each for each in given if given.count(each) > 1), None)
        if twice is not None:
            remedy = "name it once" if what == "label" else f"give one of them another name: NAME={keys[-1].label}"
            raise DiscoveryKeyError(f"the {what} {twice} is there twice; {remedy}")
    return keys


def _key(text: str) -> Key:
    name, given, label = text.partition("=")
    if not given:
        label = WORDS.get(text, text)
        name = text if text in WORDS else label.rpartition("/")[2]
    prefix, slash, last = label.rpartition("/")
    is_label = _NAME.fullmatch(last) and (not slash or (_PREFIX.fullmatch(prefix) and len(prefix) <= _LONGEST_PREFIX))
    if not is_label or not _NAME.fullmatch(name):
        words = ", ".join(WORDS)
        raise DiscoveryKeyError(f"{text!r} is no label; write {words}, a label such as example.com/rack, or NAME=LABEL")
    return Key(name, label)
