"""The picture of the demo is self-contained, and shows the demo as it is: `make pictures` draws it again."""

from __future__ import annotations

import re
from html import unescape

from stromboli.cli.examples import examples_folder
from stromboli.cli.stages import read_stages
from tools.pictures import PICTURE, STAGE

SVG = PICTURE.read_text(encoding="utf-8")


def lines() -> list[str]:
    """Return the text of the terminal, line by line."""
    texts = re.findall(r"<text[^>]* y=\"([\d.]+)\"[^>]*>(.*?)</text>", SVG)
    found: dict[str, str] = {}
    for y, text in texts:
        found[y] = found.get(y, "") + unescape(text).replace("\xa0", " ")
    return list(found.values())


def test_picture_loads_nothing_from_the_network() -> None:
    assert re.findall(r"https?://[^\"' )]+", SVG) in (
        ["http://www.w3.org/2000/svg"],
        ["http://www.w3.org/2000/svg", "https://www.textualize.io"],
    )
    assert "@font-face" not in SVG


def test_picture_shows_borrowing_preemption_and_the_reason_of_the_impossible_job() -> None:
    caption = read_stages([str(examples_folder() / "demo")])[STAGE].caption
    text = "\n".join(lines())
    assert len(lines()) <= 24
    for part in (caption, "needs 24 GPUs, cluster has 16", "4 borrowed", "preempted by urgent", "WHY IT WAITS"):
        assert part in text
    assert "…" not in text
