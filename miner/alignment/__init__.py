"""Alignment: two documents that translate each other to pairs of sentences, in their order."""
