"""Training of encoders. Only ``miner train`` and the benchmarks import this package."""
