"""Commands around configuration and the shell."""
