"""tdm: revocable nodes that take batch pods during certain hours of the day."""
