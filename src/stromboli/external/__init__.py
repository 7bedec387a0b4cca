"""What lies outside of the cluster's API: sources of measurements, and services that have a say in decisions.

The core opens no socket. What it needs from there is gathered here and handed to it: figures through snapshots, answers
through a port. Everybody out there may be slow, broken or hostile, so every answer has a time and a size that it may
not exceed, and nobody is followed elsewhere.
"""
