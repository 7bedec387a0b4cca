"""Reservations: when a pending job will have capacity, and what other jobs may use until then without delaying it."""
