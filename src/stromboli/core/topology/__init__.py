"""Domain search over the network topology."""
