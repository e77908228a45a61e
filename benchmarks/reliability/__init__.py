"""A campaign against the engine's promise that nothing is lost and nothing is silently wrong."""
