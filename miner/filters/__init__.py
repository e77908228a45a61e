"""Filters for parallel text, one family a file, all of them in :mod:`miner.filters.registry`.

A filter gives every pair a score; bounds on the score decide which pairs stay. Scoring and deciding
are separate steps, so that scores serve any bounds.
"""
