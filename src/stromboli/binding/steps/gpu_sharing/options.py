"""How GPUs are shared, as it is written in options of the binder or follows from arguments of the scheduler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from stromboli.binding.reservations.reservation_pods import ReservationPodOptions

_STANDARD = ReservationPodOptions()
DEFAULTS: Mapping[str, str] = {
    "namespace": _STANDARD.namespace,
    "image": _STANDARD.image,
    "seconds": f"{_STANDARD.seconds:g}",
    "runtimeClass": "",
    "fake": "false",
    "cdi": "false",
}
_LONGEST = 3600.0


@dataclass(frozen=True, slots=True)
class SharingOptions:
    holders: ReservationPodOptions = field(default_factory=ReservationPodOptions)
    #: Whether GPUs are told to pods as the container device interface names them.
    cdi: bool = False


def sharing_options(given: Mapping[str, str]) -> SharingOptions:
    """Raises ValueError with a sentence for an option that cannot be used."""
    for name in given:
        if name not in DEFAULTS:
            raise ValueError(f"there is no option {name!r}; there are {', '.join(sorted(DEFAULTS))}")
    options = {**DEFAULTS, **given}
    holders = ReservationPodOptions(
        options["namespace"],
        options["image"],
        _seconds(options["seconds"]),
        options["runtimeClass"],
        _is_true(options, "fake"),
    )
    return SharingOptions(holders, _is_true(options, "cdi"))


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= _LONGEST:
        raise ValueError(f"seconds: expected a number of seconds up to {_LONGEST:g}, such as 40, got {text!r}")
    return seconds


def _is_true(options: Mapping[str, str], name: str) -> bool:
    text = options[name].lower()
    if text not in ("true", "false"):
        raise ValueError(f"{name}: expected true or false, got {text!r}")
    return text == "true"
