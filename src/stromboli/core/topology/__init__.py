"""Which domain: search over the network topology."""
