"""Trainings of the papers' experiments: classifier, paraphrase generator, bounds of filters."""
