"""The small parallel text, and a corpus whose unpaired sentences are near-copies."""

from pathlib import Path

from support.files import write

NEAR = Path(__file__).parents[1] / "data" / "near_copies"


def near_lines(side: str) -> list[str]:
    return (NEAR / f"near.{side}").read_text(encoding="utf-8").splitlines()


def near_gold() -> list[tuple[int, int]]:
    """Return the gold pairs by line numbers, from 1."""
    rows = (NEAR / "near.gold").read_text(encoding="utf-8").splitlines()
    return [(int(source), int(target)) for source, target in (row.split("\t") for row in rows)]


def near_pairs() -> list[tuple[str, str]]:
    """Return the texts of the gold pairs."""
    german, english = near_lines("de"), near_lines("en")
    return [(german[source - 1], english[target - 1]) for source, target in near_gold()]


def write_mining_set(
    directory: Path, pair: str = "de-en", suffix: str = "", *, test_gold: bool = True
) -> None:
    """Write both splits in the format of BUCC, with gold of odd and even German line numbers."""
    for split, remainder in (("training", 1), ("test", 0)):
        for language, side in zip(pair.split("-"), ("de", "en"), strict=True):
            rows = [(f"{side}-{n:09}", line) for n, line in enumerate(near_lines(side), 1)]
            write(directory / f"{pair}.{split}.{language}{suffix}", rows)
        if split == "training" or test_gold:
            gold = [(f"de-{a:09}", f"en-{b:09}") for a, b in near_gold() if a % 2 == remainder]
            write(directory / f"{pair}.{split}.gold{suffix}", gold)


def write_sets(data: Path) -> None:
    """Write a small version of each set that encoders are measured on, and training text."""
    write_mining_set(data / "bucc-style" / "fr-en", "fr-en")
    for place in ("train/fr-en/near.tsv", "tatoeba/fr-en.tsv"):
        write(data / place, near_pairs())
    english = near_lines("en")
    rows = [(5, one, one) for one in english[:20]]
    rows += [(1, *pair) for pair in zip(english[:20], english[20:40], strict=True)]
    for name in ("2012.MSRpar", "2016.headlines", "stsb.en.test"):
        write(data / "sts" / f"{name}.tsv", rows)


DATA = Path(__file__).parents[1] / "data"


def sentences(language: str) -> list[str]:
    return (DATA / f"tiny.{language}").read_text(encoding="utf-8").splitlines()
