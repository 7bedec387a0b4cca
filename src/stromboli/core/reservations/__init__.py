"""Reservations: when a job that waits will have room, and what others may take until then without being in its way."""
