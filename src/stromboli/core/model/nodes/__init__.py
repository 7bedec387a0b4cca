"""Nodes as a table."""
