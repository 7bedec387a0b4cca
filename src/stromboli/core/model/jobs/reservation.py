"""Reservation: capacity that a pending job will have once other jobs end, kept free from then on."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reservation:
    job: str
    #: Expected start and end of the job, in seconds since the epoch.
    start: float
    end: float
    #: Reserved node by task uid.
    places: tuple[tuple[str, str], ...]
