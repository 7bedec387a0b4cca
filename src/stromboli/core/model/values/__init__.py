"""Small values that several modules share."""
