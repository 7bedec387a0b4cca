"""Controllers of what makes pods: jobs, replica sets and deployments."""
