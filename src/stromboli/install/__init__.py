"""Installation manifests: roles of the processes, and the objects that run them."""
