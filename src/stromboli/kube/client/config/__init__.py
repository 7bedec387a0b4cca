"""Where the API server is and how to authenticate: kubeconfig, service account, exec plugins."""
