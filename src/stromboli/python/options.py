"""How a trace is simulated, as keyword arguments of `simulate` and `compare`."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from stromboli.core.config.spelling import nearest
from stromboli.simulator.traced.chance import parse_distribution
from stromboli.simulator.traced.estimates import ESTIMATES
from stromboli.simulator.traced.layouts import LAYOUTS
from stromboli.simulator.traced.objects import QUEUES
from stromboli.simulator.traced.options import OVER_LIMIT, ReplayOptions

_CHOICES = {"layout": LAYOUTS, "estimates": ESTIMATES, "over_limit": OVER_LIMIT, "queues": QUEUES}
_DISTRIBUTIONS = ("start_latency", "failures")


def replay_options(seed: int, options: dict[str, Any]) -> ReplayOptions:
    """Raises TypeError for an unknown option, and ValueError for an invalid value of a known one.

    Distributions may be texts, such as `exponential:1000h`.
    """
    known = [field.name for field in fields(ReplayOptions) if field.name != "seed"]
    for name, value in options.items():
        if name not in known:
            meant = nearest(name, known)
            hint = f"did you mean {meant!r}?" if meant else f"there are {', '.join(known)}"
            raise TypeError(f"no option is called {name!r}; {hint}")
        if name in _CHOICES and value not in _CHOICES[name]:
            raise ValueError(f"{name}={value!r} is none of {', '.join(_CHOICES[name])}")
    drawn = {name: parse_distribution(options[name]) for name in _DISTRIBUTIONS if isinstance(options.get(name), str)}
    return ReplayOptions(seed=seed, **{**options, **drawn})
