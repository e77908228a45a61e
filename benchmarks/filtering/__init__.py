"""Quality of filters: see ``python -m benchmarks filtering --help``."""
