"""How the server describes itself and its objects to clients: discovery, schemas, tables."""
