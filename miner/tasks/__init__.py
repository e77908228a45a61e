"""Evaluations that the field knows, of any model: what it is worth before it is trusted."""
