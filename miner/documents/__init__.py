"""Documents that translate each other: two collections to pairs of documents."""
