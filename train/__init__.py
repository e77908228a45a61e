"""Training of encoders. Only the commands that train, and the benchmarks, import this package."""
