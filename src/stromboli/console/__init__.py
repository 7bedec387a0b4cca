"""A web console: what happens in the cluster, why a job waits, when it starts and what a change would do.

documents/   the wire types: one source of the OpenAPI description
openapi      the description, generated from routes and types
"""
