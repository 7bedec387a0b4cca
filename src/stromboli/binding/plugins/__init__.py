"""Binder plugins: the base class, how they are loaded, and the list of built-in ones."""
