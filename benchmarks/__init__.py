"""Named workloads that measure the scheduler and print JSON. `python -m benchmarks --help` lists them."""
