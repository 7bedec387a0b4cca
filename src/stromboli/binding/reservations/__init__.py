"""Reservation pods, which hold shared GPUs: which are required, which exist, and repairs."""
