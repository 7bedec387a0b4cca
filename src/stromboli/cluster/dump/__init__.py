"""Writes the cache to a file, and reads it back."""
