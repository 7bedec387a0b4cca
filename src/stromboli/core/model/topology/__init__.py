"""Domains of the network topology."""
