"""Options of GPU sharing, from the binder plugin's options or the scheduler plugin's arguments."""

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
_MAX_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class SharingOptions:
    reservation_pods: ReservationPodOptions = field(default_factory=ReservationPodOptions)
    #: Whether pods get the ids of GPUs as the container device interface names them.
    cdi: bool = False


def sharing_options(values: Mapping[str, str]) -> SharingOptions:
    """Read the options. Raises ValueError with a message for an invalid one."""
    for name in values:
        if name not in DEFAULTS:
            raise ValueError(f"unknown option {name!r}; known options are {', '.join(sorted(DEFAULTS))}")
    options = {**DEFAULTS, **values}
    reservation_pods = ReservationPodOptions(
        options["namespace"],
        options["image"],
        _seconds(options["seconds"]),
        options["runtimeClass"],
        _is_true(options, "fake"),
    )
    return SharingOptions(reservation_pods, _is_true(options, "cdi"))


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= _MAX_SECONDS:
        raise ValueError(f"seconds: expected a number of seconds up to {_MAX_SECONDS:g}, such as 40, got {text!r}")
    return seconds


def _is_true(options: Mapping[str, str], name: str) -> bool:
    text = options[name].lower()
    if text not in ("true", "false"):
        raise ValueError(f"{name}: expected true or false, got {text!r}")
    return text == "true"
