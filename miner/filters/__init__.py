"""Filters for parallel text, one family per file, all listed in :mod:`miner.filters.registry`.

A filter gives every pair a score; bounds on the score decide which pairs are kept. Scoring and
deciding are separate steps, so that scores serve any bounds.
"""
