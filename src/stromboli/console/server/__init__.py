"""The server: requests, their limits, and answers over HTTP."""
