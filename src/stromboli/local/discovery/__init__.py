"""Discovery documents, OpenAPI schemas and tables."""
