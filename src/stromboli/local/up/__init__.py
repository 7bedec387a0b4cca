"""`stromboli up`: API server, simulated nodes, controllers and the scheduler in one process."""
