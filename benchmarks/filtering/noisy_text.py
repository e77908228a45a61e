"""Text to measure filters on: labelled sets, and held-out text with one half corrupted.

No sentence of it is in the training text of our models or of those that ship with the filters:

- ``de-en``: image captions (multi30k val for development, its test set of 2016 for the report) and
  news (the true pairs of the bucc-style training split, alternately for development and report).
- ``fr-en``: acts and regulations that are in no training text (alternately for development and
  report) and news, as above. The model that ships was trained on other laws, but on no captions or
  news.

Sentences of ``wrong language`` are in the foreign language of the other set, from the bucc-style
training split.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.filtering.noise import KINDS, Corpus, Noise, Pair
from benchmarks.mining.precision_reached import bucc_style
from miner import MinerError
from miner.evaluation.labelled_text import find_file
from miner.text.bitext import read_bitext
from miner.text.corpus import read

SEED = 6
SPLITS = ("dev", "test")
LANGUAGES = ("de-en", "fr-en")
# Maximum pairs of laws, so that the sets have similar sizes.
LAWS = 2_000
CAPTIONS = {"dev": "multi30k-val", "test": "multi30k-test_2016_flickr"}
THIRD = {"de-en": ("fr-en", "fr"), "fr-en": ("de-en", "de")}
# Kind of uncorrupted pairs.
GOOD = ""


@dataclass(frozen=True)
class Labelled:
    """A labelled set. ``development``: filters may be tuned on it."""

    name: str
    languages: str
    development: bool

    @property
    def file(self) -> str:
        return f"{self.languages}.{self.name}-labelled.tsv"


SETS = (
    Labelled("paracrawl", "de-en", True),
    Labelled("opensubs", "fr-en", True),
    Labelled("commoncrawl", "fr-en", False),
)


def labelled(data: Path, which: Labelled) -> tuple[list[Pair], np.ndarray]:
    """Return the pairs of a set, and which of them are good: ``(n,) bool``."""
    path = one(data / "noisy", which.file)
    bitext = read_bitext(path, more=(3,))
    labels = [label for (label,) in bitext.more]
    if set(labels) != {"0", "1"}:
        raise MinerError(f"{path}: column 3 must be 0 or 1, and both must occur")
    return list(zip(bitext.source, bitext.target, strict=True)), np.array(labels) == "1"


@dataclass(frozen=True, eq=False)
class Mixture:
    """Good and corrupted pairs. ``kinds``: the kind of noise of each pair, or `GOOD`."""

    pairs: list[Pair]
    kinds: list[str]

    @property
    def good(self) -> np.ndarray:
        """Pairs that are not corrupted: ``(n,) bool``."""
        return np.array([kind == GOOD for kind in self.kinds], dtype=bool)

    @property
    def counts(self) -> dict[str, int]:
        """Number of pairs of each kind, the good ones as ``good``."""
        return {kind or "good": self.kinds.count(kind) for kind in (GOOD, *KINDS)}


def mix(
    corpora: Sequence[tuple[Corpus, Sequence[int]]],
    noises: dict[str, Noise],
    seed: int = SEED,
    weights: Mapping[str, float] | None = None,
) -> Mixture:
    """Corrupt half of the pairs of ``corpora``, at the positions beside each.

    The half is chosen before the kinds, so that good and corrupted pairs are from the same text.
    The kinds have equal shares, or shares by ``weights``, except those that apply to fewer pairs.
    """
    places = [(corpus, place) for corpus, chosen in corpora for place in chosen]
    order = np.random.default_rng(seed).permutation(len(places)).tolist()
    half = order[: len(order) // 2]
    # Each pair and kind has its own generator, so that pairs do not affect each other.
    made = {
        kind: {
            row: noise(places[row][1], places[row][0], np.random.default_rng([seed, number, row]))
            for row in half
        }
        for number, (kind, noise) in enumerate(noises.items())
    }
    pairs = [corpus.pairs[place] for corpus, place in places]
    kinds = [GOOD] * len(pairs)
    left = half
    weight = weights or dict.fromkeys(noises, 1)
    # Kinds of noise that apply to few pairs choose their pairs first.
    able = {kind: sum(pair is not None for pair in found.values()) for kind, found in made.items()}
    waiting = sorted(made, key=lambda kind: able[kind])
    while waiting:
        kind = waiting[0]
        share = int(len(left) * weight[kind] / sum(weight[one] for one in waiting))
        taken = [row for row in left if made[kind][row] is not None][:share]
        for row in taken:
            pair = made[kind][row]
            assert pair is not None
            pairs[row], kinds[row] = pair, kind
        gone = set(taken)
        left = [row for row in left if row not in gone]
        waiting = waiting[1:]
    return Mixture(pairs, kinds)


def mixture(data: Path, languages: str, split: str) -> Mixture:
    """Return the held-out text of ``languages`` for one of `SPLITS`, half of it corrupted."""
    third = read(one(data / "bucc-style", _bucc(THIRD[languages])), format="bucc").sentences
    corpora: list[tuple[Corpus, Sequence[int]]] = []
    if languages == "de-en":
        captions = read_bitext(one(data / "heldout", f"de-en.{CAPTIONS[split]}.tsv"))
        pairs = list(zip(captions.source, captions.target, strict=True))
        corpora.append(unordered(pairs, third))
    else:
        corpora.append(_laws(data, split, third))
    pairs = news(data, languages)[SPLITS.index(split) :: len(SPLITS)]
    corpora.append(unordered(pairs, third))
    return mix(corpora, KINDS)


def unordered(pairs: Sequence[Pair], third: Sequence[str]) -> tuple[Corpus, Sequence[int]]:
    """Make a corpus like :func:`whole` with one document per pair."""
    return whole(pairs, [str(row) for row in range(len(pairs))], third)


def whole(
    pairs: Sequence[Pair], documents: Sequence[str], third: Sequence[str]
) -> tuple[Corpus, Sequence[int]]:
    """Make a corpus and use all of its pairs, without repeated sentences and copied sources."""
    seen: tuple[set[str], set[str]] = set(), set()
    kept = []
    for row, (source, target) in enumerate(pairs):
        if source != target and source not in seen[0] and target not in seen[1]:
            kept.append(row)
            seen[0].add(source)
            seen[1].add(target)
    corpus = Corpus([pairs[row] for row in kept], [documents[row] for row in kept], third)
    return corpus, range(len(kept))


def _laws(data: Path, split: str, third: Sequence[str]) -> tuple[Corpus, Sequence[int]]:
    """Return the laws of a split, and the places of a random sample of them."""
    laws = read_bitext(one(data / "heldout", "fr-en.laws.tsv"), more=(3,))
    documents = [document for (document,) in laws.more]
    own = set(sorted(set(documents))[SPLITS.index(split) :: len(SPLITS)])
    rows = [row for row, document in enumerate(documents) if document in own]
    pairs = [(laws.source[row], laws.target[row]) for row in rows]
    corpus, every = whole(pairs, [documents[row] for row in rows], third)
    drawn = np.random.default_rng(SEED).permutation(len(every))[:LAWS]
    return corpus, sorted(drawn.tolist())


def news(data: Path, languages: str) -> list[Pair]:
    """Return the true pairs of the bucc-style training split, in the order of their ids."""
    sides, gold = bucc_style(data / "bucc-style", languages, "training")
    return [(sides[0][source], sides[1][target]) for source, target in sorted(gold)]


def _bucc(third: tuple[str, str]) -> str:
    languages, side = third
    return f"{languages}/{languages}.training.{side}"


def one(directory: Path, name: str) -> Path:
    """Return the plain or compressed file with this name. Raises MinerError if there is none."""
    found = find_file(directory, name)
    if found is None:
        raise MinerError(f"{directory}: no {name}, plain or compressed")
    return found
