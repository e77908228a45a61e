"""Experiments of the papers that the engine does not need.

Commands, ``train/papers`` and benchmarks import this package.
"""
