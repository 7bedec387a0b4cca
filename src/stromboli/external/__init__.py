"""Clients of services outside of the cluster's API: sources of usage metrics, and scheduler extenders.

The core opens no socket: usage reaches it through snapshots, responses of extenders through a port. External services
may be slow, broken or hostile, so every response is limited in time and size, and redirects are not followed.
"""
