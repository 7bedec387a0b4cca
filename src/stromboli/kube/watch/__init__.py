"""Keeping up with an API server: lists, watches, and those who want to know."""
