"""Carries out decisions: binds the pods of a gang, evicts victims, and knows what to do when it does not work."""
