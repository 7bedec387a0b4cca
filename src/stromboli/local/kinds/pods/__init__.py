"""Defaults and subresources of pods."""
