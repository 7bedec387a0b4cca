"""The output of the commands for a cluster."""
