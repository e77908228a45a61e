"""Adapters for other pipelines, one per module; each imports its library."""
