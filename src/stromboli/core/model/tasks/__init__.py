"""Tasks and task classes."""
