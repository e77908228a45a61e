"""Review: people judge a sample of pairs; the answers estimate precision and serve as labels."""
