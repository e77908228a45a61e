"""Commands of the papers' experiments, which the engine finds by entry points."""
