"""Hot loops, compiled by numba. Tests compare each with a plain reference.

Importing a module of this package loads numba, so callers import it in function bodies. Only
`cache` is light.
"""
