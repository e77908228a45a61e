"""Speed and memory beside other systems: see ``python -m benchmarks speed --help``."""
