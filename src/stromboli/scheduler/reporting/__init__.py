"""Statuses, conditions and events."""
