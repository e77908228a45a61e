"""Quality and throughput of filters: see ``python -m benchmarks filtering --help``."""
