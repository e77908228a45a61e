"""Speed and memory, ours and others', in one run: see ``python -m benchmarks speed --help``."""
