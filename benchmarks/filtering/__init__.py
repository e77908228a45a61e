"""How well noise is told from translations: see ``python -m benchmarks filtering --help``."""
