"""All evaluations of the papers, for our models and untrained ones."""
