"""Simulated traces: a single run, and comparisons of policies."""
