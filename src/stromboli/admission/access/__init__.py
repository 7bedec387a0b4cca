"""Access of users to queues and priority classes, as far as it takes requests to the API server."""
