"""Binder plugins: the base class, loading, and their execution."""
