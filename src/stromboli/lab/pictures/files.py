"""Pictures as files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from stromboli.lab.pictures.catalogue import Picture
from stromboli.lab.pictures.rendering import png_of, svg_of

_UNSAFE = re.compile(r"[^\w.-]+")


def write_pictures(pictures: Iterable[Picture], folder: Path) -> None:
    """Write each as SVG and PNG, named by the picture and the policy. Raises MissingExtra and OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    used: set[str] = set()
    for picture in pictures:
        parts = filter(None, (picture.name, _UNSAFE.sub("-", picture.policy).strip("-.")))
        stem = name = "-".join(parts)
        number = 1
        while name in used:
            number += 1
            name = f"{stem}-{number}"
        used.add(name)
        (folder / f"{name}.svg").write_text(svg_of(picture.spec), encoding="utf-8")
        (folder / f"{name}.png").write_bytes(png_of(picture.spec))
