"""Metrics of all processes."""
