"""Choice of a model's decoys: sentences of the training text, by language.

Decoys of the target's language estimate the precision of mined pairs (:mod:`miner.mining`), so a
model holds some of every language that it was trained on.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from miner.scoring.languages import identify
from miner_train.data import UNKNOWN, SplitPairs
from miner_train.language_texts import codes
from miner_train.sampling import drawn_by_length

# Maximum decoys of the language with most pairs, of each other language, and of all languages.
MOST, EACH = 20_000, 1_500
# Length in characters: shorter sentences may translate anything, longer ones are rarely sentences.
SHORTEST, LONGEST = 20, 400
# Sentences sampled to identify the language of pairs without one in the file name, and the share
# that must agree.
SAMPLE, AGREED = 2000, 0.9


def choose_decoys(split: SplitPairs, rows: np.ndarray, seed: int) -> dict[str, list[str]]:
    """Choose distinct sentences of both sides of the pairs ``rows``, by ISO 639 code.

    The probability grows with the length, because long sentences are rarer in training text than in
    corpora to mine. The code is "" if neither the file name nor a sample shows the language.
    """
    texts: dict[str, set[int]] = defaultdict(set)
    groups = split.by_language(rows)
    unknown = np.flatnonzero(split.pairs.language[rows] == UNKNOWN)
    for name, places in [*groups.items(), *([(None, unknown)] if len(unknown) else [])]:
        chosen = rows[places]
        sides = split.pairs.source_text[chosen], split.pairs.target_text[chosen]
        names = codes(name) if name is not None else [_seen(split, side) for side in sides]
        for code, side in zip(names, sides, strict=True):
            texts[code].update(side.tolist())
    size = {code: len(ids) for code, ids in texts.items()}
    largest = max(size, key=lambda code: (size[code], code), default=None)
    # A model of two languages has room for the maximum of each.
    each = MOST if len(size) <= 2 else EACH
    return {
        code: _drawn((split.sentences[i] for i in sorted(ids)), most, [seed, 6, number])
        for number, (code, ids) in enumerate(sorted(texts.items()))
        if (most := MOST if code == largest else each)
    }


def _seen(split: SplitPairs, texts: np.ndarray) -> str:
    """Identify the language of sentences by their text ids; "" if they are in several."""
    spread = texts[np.linspace(0, len(texts) - 1, SAMPLE).astype(np.int64)]
    shares = identify([split.sentences[i] for i in np.unique(spread).tolist()]).shares
    return shares[0][0] if shares and shares[0][1] >= AGREED else ""


def _drawn(sentences: Iterable[str], most: int, seed: Sequence[int]) -> list[str]:
    """Draw at most ``most`` usable sentences, with probabilities in proportion to their lengths."""
    usable = [text for text in sentences if SHORTEST <= len(text) <= LONGEST]
    rows = drawn_by_length(usable, most, np.random.default_rng(seed))
    return [usable[i] for i in np.sort(rows).tolist()]
