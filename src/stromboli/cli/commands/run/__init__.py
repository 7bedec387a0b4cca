"""Commands that run processes."""
