"""Text to measure filters on: labelled sets, and held-out text of which half is corrupted.

No sentence of it is in the training text, of our models or of others' that ship with the filters:

- ``de-en``: image captions (multi30k val for development, its test set of 2016 for the report) and
  news (the true pairs of the bucc-style training split, every other one for either).
- ``fr-en``: acts and regulations that are in no training text (every other one for either) and
  news, as above. The model that ships knows other laws; of captions and news it has seen none.

The third language of ``wrong language`` is the other set's, from the bucc-style training split.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.filtering.noise import KINDS, Corpus, Noise, Pair
from benchmarks.mining.bucc_protocol import located
from miner import MinerError
from miner.evaluation.labelled_text import find_file
from miner.text.bitext import read_bitext
from miner.text.corpus import read

SEED = 6
SPLITS = ("dev", "test")
LANGUAGES = ("de-en", "fr-en")
# Laws are many: as many pairs of them are taken as make the set of about the size of a small one.
LAWS = 2_000
CAPTIONS = {"dev": "multi30k-val", "test": "multi30k-test_2016_flickr"}
THIRD = {"de-en": ("fr-en", "fr"), "fr-en": ("de-en", "de")}
# Of a mixture: a pair that nothing was done to.
GOOD = ""


@dataclass(frozen=True)
class Labelled:
    """A labelled set. ``development``: whether filters may be tuned on it."""

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
    """The pairs of a set, and ``(n,) bool``: which of them are good."""
    path = one(data / "noisy", which.file)
    bitext = read_bitext(path, more=(3,))
    labels = [label for (label,) in bitext.more]
    if set(labels) != {"0", "1"}:
        raise MinerError(f"{path}: column 3 has to say 0 or 1 of each pair, and both at times")
    return list(zip(bitext.source, bitext.target, strict=True)), np.array(labels) == "1"


@dataclass(frozen=True, eq=False)
class Mixture:
    """Good and noisy pairs. ``kinds``: of each pair what was done to it, or `GOOD`."""

    pairs: list[Pair]
    kinds: list[str]

    @property
    def good(self) -> np.ndarray:
        """``(n,) bool``."""
        return np.array([kind == GOOD for kind in self.kinds], dtype=bool)

    @property
    def counts(self) -> dict[str, int]:
        """Pairs of each kind, the good ones as ``good``."""
        return {kind or "good": self.kinds.count(kind) for kind in (GOOD, *KINDS)}


def mix(
    corpora: Sequence[tuple[Corpus, Sequence[int]]], noises: dict[str, Noise], seed: int = SEED
) -> Mixture:
    """Make half of the pairs of ``corpora`` (at the places beside each) noisy.

    Which half is chosen first, so that good and noisy pairs are of one text, whatever a kind needs.
    In that half the kinds have equal shares, but for a kind with fewer pairs that it can spoil.
    """
    places = [(corpus, place) for corpus, chosen in corpora for place in chosen]
    order = np.random.default_rng(seed).permutation(len(places)).tolist()
    half = order[: len(order) // 2]
    # A generator for each pair and kind: what becomes of one depends on no other.
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
    # The choosy kinds choose first.
    able = {kind: sum(pair is not None for pair in found.values()) for kind, found in made.items()}
    waiting = sorted(made, key=lambda kind: able[kind])
    while waiting:
        kind, share = waiting[0], len(left) // len(waiting)
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
    """The held-out text of ``languages`` for ``split``, one of `SPLITS`, half of it noisy."""
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
    """As :func:`whole`, of pairs that have no neighbours: each is a document of its own."""
    return whole(pairs, [str(row) for row in range(len(pairs))], third)


def whole(
    pairs: Sequence[Pair], documents: Sequence[str], third: Sequence[str]
) -> tuple[Corpus, Sequence[int]]:
    """A corpus of which every pair is used: of repeated sentences the first, and no copies."""
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
    """The laws of a split, and the places of some of them, drawn."""
    laws = read_bitext(one(data / "heldout", "fr-en.laws.tsv"), more=(3,))
    documents = [document for (document,) in laws.more]
    own = set(sorted(set(documents))[SPLITS.index(split) :: len(SPLITS)])
    rows = [row for row, document in enumerate(documents) if document in own]
    pairs = [(laws.source[row], laws.target[row]) for row in rows]
    corpus, every = whole(pairs, [documents[row] for row in rows], third)
    drawn = np.random.default_rng(SEED).permutation(len(every))[:LAWS]
    return corpus, sorted(drawn.tolist())


def news(data: Path, languages: str) -> list[Pair]:
    """The true pairs of the bucc-style training split, in the order of their ids."""
    task = located(data / "bucc-style", languages)
    sentences = []
    for side in languages.split("-"):
        corpus = read(task.need(f"training.{side}"), format="bucc")
        sentences.append(dict(zip(corpus.ids, corpus.sentences, strict=True)))
    gold = sorted(task.gold("training"))
    return [(sentences[0][source], sentences[1][target]) for source, target in gold]


def _bucc(third: tuple[str, str]) -> str:
    languages, side = third
    return f"{languages}/{languages}.training.{side}"


def one(directory: Path, name: str) -> Path:
    """The file of that name, compressed or not. Raises MinerError where it is not there."""
    found = find_file(directory, name)
    if found is None:
        raise MinerError(f"{directory}: no {name}, plain or compressed")
    return found
