"""The pictures are self-contained, and show what runs are: `make pictures` draws them again."""

from __future__ import annotations

import re
from html import unescape

from stromboli.cli.examples import examples_folder
from stromboli.cli.stages import read_stages
from tools import console_picture
from tools.pictures import PICTURE, POLICIES, STAGE, WAITS, waits

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


def _lines_of(svg: str) -> list[str]:
    """Return the drawn lines. Places of texts depend on the fonts of a machine."""
    return re.findall(r'aria-roledescription="line mark"[^>]* d="([^"]*)"', svg)


def test_picture_of_waits_is_that_of_the_example_trace() -> None:
    kept, again = WAITS.read_text(encoding="utf-8"), waits()
    assert all(f">{policy}</text>" in kept for policy in POLICIES)
    assert len(_lines_of(kept)) == len(POLICIES)
    assert [line.count("L") for line in _lines_of(kept)] == [line.count("L") for line in _lines_of(again)]


def test_picture_of_the_console_is_moderate() -> None:
    content = console_picture.PICTURE.read_bytes()
    assert content.startswith(b"\x89PNG")
    assert len(content) < 250_000
