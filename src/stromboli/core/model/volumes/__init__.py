"""Volumes and where they can be used."""
