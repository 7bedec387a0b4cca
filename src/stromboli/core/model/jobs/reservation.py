"""A reservation: room that a waiting job will have once others have ended, kept free from then on."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reservation:
    job: str
    #: When the job is to start, in seconds since the epoch, and when it will have ended.
    start: float
    end: float
    #: By the uid of a task, the node on which it will have room.
    places: tuple[tuple[str, str], ...]
