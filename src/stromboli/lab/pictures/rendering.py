"""Specifications as SVG and PNG, without a browser and without a network."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from stromboli.lab.extra import MissingExtra
from stromboli.lab.pictures.drawing import Spec

if TYPE_CHECKING:
    from types import ModuleType

_VEGA_LITE = "6.4"
#: Dots of PNG per unit of the specification.
_SCALE = 2
_ID = re.compile(r' id="([^"]+)"')
_ID_USE = re.compile(r'( id="|url\(#)([^")]+)([")])')


def theme(ink: str, background: str | None) -> dict[str, Any]:
    """Return the configuration of all pictures: the colour of texts and axes, and what is behind them."""
    texts = {"labelColor": ink, "titleColor": ink, "titleFontWeight": "normal", "labelFontSize": 11}
    return {
        "background": background, "font": "sans-serif", "view": {"stroke": None},
        "title": {"color": ink, "anchor": "start", "fontSize": 13},
        "axis": {
            **texts, "gridColor": ink, "gridOpacity": 0.12, "domainColor": ink, "domainOpacity": 0.4, "tickColor": ink,
            "tickOpacity": 0.4, "tickCount": 8, "labelOverlap": True,
        },
        "legend": {**texts, "orient": "bottom", "columns": 4, "symbolLimit": 20},
        "rule": {"color": ink},
    }  # fmt: skip


_ON_PAPER = theme("#333", "white")


def svg_of(spec: Spec, config: dict[str, Any] | None = None, prefix: str = "") -> str:
    """Return the same text in every process. The prefix is that of its ids in a page. Raises MissingExtra."""
    svg: str = _converter().vegalite_to_svg(
        spec, vl_version=_VEGA_LITE, config=config or _ON_PAPER, allowed_base_urls=[]
    )
    # the library numbers the ids of all pictures of a process
    ids = {name: f"{prefix}{number}" for number, name in enumerate(dict.fromkeys(_ID.findall(svg)))}
    return _ID_USE.sub(lambda found: found[1] + ids.get(found[2], found[2]) + found[3], svg)


def png_of(spec: Spec) -> bytes:
    """Raises MissingExtra."""
    png: bytes = _converter().vegalite_to_png(
        spec, vl_version=_VEGA_LITE, config=_ON_PAPER, scale=_SCALE, allowed_base_urls=[]
    )
    return png


def vega_bundle(snippet: str) -> str:
    """Return the libraries with a script that uses them as `vegaEmbed`, `vegaLite` and `vega`. Raises MissingExtra."""
    bundle: str = _converter().javascript_bundle(snippet, vl_version=_VEGA_LITE)
    return bundle


def _converter() -> ModuleType:
    try:
        import vl_convert
    except ImportError as error:
        raise MissingExtra("lab") from error
    return vl_convert
