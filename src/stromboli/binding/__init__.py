"""Binding: executes placements and evictions, prepares what pods need, and recovers from failures."""
