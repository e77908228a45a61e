"""Filters for parallel text: what each measures, and how a whole cleaning is made of them.

A filter gives every pair a score; bounds on the score say which pairs stay. Scoring and keeping
are separate steps, so that one scoring serves any bounds.
"""
