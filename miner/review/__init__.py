"""Review: people judge a sample of pairs; their answers tell precision, and are kept as labels."""
