"""What a pod needs before it is bound: volumes, resource claims, shared GPUs, node locks."""
