"""The only mutable state of a cycle."""
