"""The HTTPS server of the webhook: certificate, connections, and the clients that it answers."""
