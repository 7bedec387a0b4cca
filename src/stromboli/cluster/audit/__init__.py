"""Compares the cache with a fresh computation from the objects, and with the API server."""
