"""The bill of materials: what the locked requirements bring along, as CycloneDX 1.6.

`python tools/sbom.py > sbom.cdx.json`. Versions and hashes are those of the lock; licences and who needs whom are
provided by the packages that are installed beside this Python. The same lock and the same packages give the same text,
byte by byte: there is no date in it, and its number is made of its content.
"""

from __future__ import annotations

import json
import re
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

LOCK = Path(__file__).parents[1] / "requirements" / "runtime.lock"
OURSELVES = "stromboli"
#: The extra of this package in the lock, and that of the driver for which it is.
LOCKED_EXTRAS = ("postgresql", "binary")
MAX_NAME_LENGTH = 64
"""Some packages put the whole text of their licence where its name belongs."""

Document = dict[str, object]

_ENTRY = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>[^\s;\\]+)(?P<rest>(?:.*\\\n)*.*)$", re.MULTILINE)
_EXTRA = re.compile(r"""extra == ["']([\w-]+)["']""")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Locked:
    """A line of the lock. Two versions of one package may stand there, for different versions of Python."""

    name: str
    version: str
    hashes: tuple[str, ...]

    @property
    def purl(self) -> str:
        return f"pkg:pypi/{self.name}@{self.version}"


def locked(text: str) -> list[Locked]:
    found = [Locked(canonical(m["name"]), m["version"], tuple(_HASH.findall(m["rest"]))) for m in _ENTRY.finditer(text)]
    return sorted(found, key=lambda entry: (entry.name, entry.version))


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def bill(entries: list[Locked]) -> Document:
    us = f"pkg:pypi/{OURSELVES}@{metadata.version(OURSELVES)}"
    document: Document = {
        "metadata": {"component": component("application", OURSELVES, metadata.version(OURSELVES), us)},
        "components": [library(entry) for entry in entries],
        "dependencies": list(dependencies(us, entries)),
    }
    number = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(document, sort_keys=True))
    head = {"bomFormat": "CycloneDX", "specVersion": "1.6", "serialNumber": f"urn:uuid:{number}", "version": 1}
    return {**head, **document}


def component(kind: str, name: str, version: str, purl: str) -> Document:
    component = {"type": kind, "bom-ref": purl, "name": name, "version": version, "purl": purl}
    return {**component, **({"licenses": found} if (found := licences(name)) else {})}


def library(entry: Locked) -> Document:
    """A version that is not installed here is for another Python, and not part of what runs."""
    scope = "required" if installed_version(entry.name) == entry.version else "excluded"
    hashes = [{"alg": "SHA-256", "content": digest} for digest in entry.hashes]
    return {**component("library", entry.name, entry.version, entry.purl), "scope": scope, "hashes": hashes}


def installed_version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def licences(name: str) -> list[Document]:
    """The package's own metadata: an expression, classifiers, or a name."""
    if not installed_version(name):
        return []
    said = metadata.metadata(name)
    if "License-Expression" in said:
        return [{"expression": said["License-Expression"]}]
    classifiers = said.get_all("Classifier") or []
    names = [line.split(" :: ")[-1] for line in classifiers if line.startswith("License ::")]
    names = names or said.get_all("License") or []
    return [{"license": {"name": each}} for each in names if 0 < len(each) <= MAX_NAME_LENGTH]


def dependencies(us: str, entries: list[Locked]) -> Iterator[Document]:
    here = {entry.name: entry.purl for entry in entries if installed_version(entry.name) == entry.version}
    for name, purl in {OURSELVES: us, **here}.items():
        needed = {match[0] for line in metadata.requires(name) or () if (match := _needed(line))}
        yield {"ref": purl, "dependsOn": sorted(here[each] for each in map(canonical, needed) if each in here)}


def _needed(requirement: str) -> re.Match[str] | None:
    """The name in a requirement; none for what only an extra brings that is not locked."""
    extra = _EXTRA.search(requirement)
    return re.match(r"[\w.-]+", requirement) if extra is None or extra[1] in LOCKED_EXTRAS else None


if __name__ == "__main__":
    json.dump(bill(locked(LOCK.read_text(encoding="utf-8"))), sys.stdout, indent=2, sort_keys=True)
    sys.stdout.write("\n")
