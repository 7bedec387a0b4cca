"""An API server in memory: the Kubernetes REST conventions over HTTPS, for laptops and tests."""
