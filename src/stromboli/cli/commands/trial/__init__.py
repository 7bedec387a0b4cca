"""Commands to try Stromboli."""
