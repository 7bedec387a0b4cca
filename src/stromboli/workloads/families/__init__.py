"""What controllers create for each family of workloads: one module or folder per family."""
