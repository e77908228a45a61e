"""Choice of the best epoch by semantic similarity, as P19 chooses by STS 2017."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from miner.errors import CorpusError
from miner.evaluation.metrics import pearson, value_of
from miner.text.bitext import parse_scores, read_bitext
from miner.text.bitext_format import BitextFormat
from miner_train.data import Sentences, Tokenise, tokenize

# Ways to choose an epoch: by mining held-out pairs, or by a file of graded sentence pairs.
MINING, STS = "mining", "sts:"
# Unit vectors of sentences by the current parameters.
Encode = Callable[[Sentences], np.ndarray]


@dataclass(frozen=True)
class GradedPairs:
    """Pairs of sentences of one language with grades of their similarity ``score (n,) float64``."""

    first: list[str]
    second: list[str]
    score: np.ndarray

    @property
    def digest(self) -> str:
        """Hash of all of it, for the key of a checkpoint."""
        found = hashlib.sha256(self.score.tobytes())
        found.update("\n".join([*self.first, *self.second]).encode("utf-8", "surrogatepass"))
        return found.hexdigest()[:16]


@dataclass(frozen=True)
class Development:
    """Graded pairs, tokenised."""

    first: Sentences
    second: Sentences
    score: np.ndarray

    def correlation(self, encode: Encode) -> float:
        """Pearson's correlation of the cosines with the grades, -1 to 1.

        A sentence without a known token has a cosine of 0.
        """
        cosines = np.einsum("nd,nd->n", encode(self.first), encode(self.second), dtype=np.float64)
        return value_of(pearson(cosines, self.score), len(self.score))


def read_graded(select: str) -> GradedPairs | None:
    """Read the file that ``sts:FILE`` names: lines of grade, sentence, sentence (tab-separated).

    None for ``mining``. Raises CorpusError for a file of another kind, or with fewer than three
    pairs or a single grade.
    """
    if not select.startswith(STS):
        return None
    path = select.removeprefix(STS)
    layout = BitextFormat(source_column=2, target_column=3, format="tsv")
    pairs = read_bitext(path, None, layout, more=["1"])
    scores = parse_scores([row[0] for row in pairs.more], path, pairs.lines)
    if len(scores) < 3 or not np.isfinite(scores).all() or (scores == scores[0]).all():
        raise CorpusError(
            f"{path}: {len(scores)} graded pairs; choosing an epoch needs three and more, with "
            "different finite grades"
        )
    return GradedPairs(pairs.source, pairs.target, scores)


def prepare_graded(graded: GradedPairs, tokenizers: Sequence[Tokenise]) -> Development:
    """Tokenise graded pairs; ``tokenizers`` are those of their language's column, by unit."""
    first, second = (tokenize(tokenizers, side) for side in (graded.first, graded.second))
    return Development(first, second, graded.score)
