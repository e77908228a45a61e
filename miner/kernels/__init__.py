"""Hot loops and nothing else: each compiled by numba, each with a plain reference beside it.

Importing a module of this package loads numba, so callers do it where they first need it.
"""
