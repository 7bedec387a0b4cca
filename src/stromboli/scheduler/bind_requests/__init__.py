"""Bind requests of the scheduler: written, monitored and deleted."""
