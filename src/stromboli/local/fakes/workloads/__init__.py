"""Controllers of what makes pods: jobs, deployments and sets."""
