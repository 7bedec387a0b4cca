"""Synthetic workloads. The same parameters and seed give the same trace."""
