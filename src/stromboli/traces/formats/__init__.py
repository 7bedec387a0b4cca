"""One module per format: each reads a file into a Trace, streaming where the format is in order of time."""
