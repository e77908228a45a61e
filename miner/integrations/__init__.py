"""Adapters for other people's pipelines, one a module; each imports its library."""
