"""Hot loops in C, with the declarations by which Python calls them.

Tests compare each with a plain reference. See :mod:`miner.kernels.library`.
"""
