"""Text that a classifier learns to separate in a second."""

import numpy as np

Texts = tuple[list[str], list[str]]


def topics() -> Texts:
    """Return sentences on two topics, with common words."""
    generator = np.random.default_rng(1)

    def sentences(own: str) -> list[str]:
        words = [f"{own}{number}" for number in range(9)]
        both = [f"and{number}" for number in range(30)]
        return [
            " ".join([*generator.choice(both, 6), *generator.choice(words, 2)]) for _ in range(150)
        ]

    return sentences("sea"), sentences("road")
