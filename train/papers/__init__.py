"""Laboratory of the five papers: their experiments, which the engine runs without.

Its commands and evaluations are entry points (``setup.cfg``, :mod:`miner.extensions`).
"""
