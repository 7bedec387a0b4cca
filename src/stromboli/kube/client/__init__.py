"""Talking to an API server: where it is, who we are, requests and their failures."""
