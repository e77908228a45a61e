"""Place of a small corpus with gold in which most sentences without a pair are near-copies."""

from pathlib import Path

NEAR = Path(__file__).parents[1] / "data" / "near_copies"
