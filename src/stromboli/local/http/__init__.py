"""HTTP: connections, requests, streams and certificates."""
