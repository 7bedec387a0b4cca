"""The rules of single kinds: defaults, checks, and what happens when they are written."""
