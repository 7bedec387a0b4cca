"""Fake storage controllers."""
