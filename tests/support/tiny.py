"""The small parallel text of the tests: 60 German sentences and their translations."""

from pathlib import Path

DATA = Path(__file__).parents[1] / "data"


def sentences(language: str) -> list[str]:
    return (DATA / f"tiny.{language}").read_text(encoding="utf-8").splitlines()
