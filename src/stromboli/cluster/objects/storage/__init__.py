"""Volumes, claims, storage classes and capacities."""
