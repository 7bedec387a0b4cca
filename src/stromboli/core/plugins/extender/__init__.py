"""extender: delegate decisions to an external HTTP service."""
