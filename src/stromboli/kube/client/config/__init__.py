"""The address of the API server and the authentication to it: kubeconfig, service account, exec plugins."""
