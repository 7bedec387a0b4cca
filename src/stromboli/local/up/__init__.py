"""A whole cluster in one process: API server, nodes, controllers and the scheduler, talking over a socket."""
