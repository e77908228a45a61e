"""miner.scoring.explain: terms of a probability, and matched tokens."""

import numpy as np
import pytest

from miner.encoder.encoder import Encoder
from miner.encoder.model import load
from miner.index.index import Index
from miner.kernels.tokens import MATCHED
from miner.mining.choices import verifier_for
from miner.mining.mine import search_indexes
from miner.precision.search_result import SearchResult
from miner.scoring.explain import TRANSLATED, explain, match
from miner.scoring.quality import Quality
from miner.scoring.verifier import Verifier


@pytest.fixture(scope="module")
def found(verifying: tuple[Index, Index]) -> SearchResult:
    return search_indexes(*verifying, verifier_for(verifying[0]))


def test_explaining_a_pair(found: SearchResult, german: list[str], english: list[str]) -> None:
    assert found.verifier is not None
    right = explain(found.verifier, german[0], english[0])
    wrong = explain(found.verifier, german[0], english[9])
    assert right.probability > wrong.probability
    assert right.cosine > wrong.cosine
    total = sum(right.parts.values()) + found.verifier.pair_function.intercept
    assert 1 / (1 + np.exp(-total)) == pytest.approx(right.probability)
    folded = "".join(token.text for token in right.source)
    assert folded.strip().casefold() == german[0].strip().casefold()
    for token in right.source:
        assert token.partner is None or 0 <= token.partner < len(right.target)


def test_explaining_a_quality(knowing_model, german, english):
    quality = Quality(Verifier(Encoder(load(knowing_model)), ("de", "en")))
    shown = explain(quality.verifier, german[0], english[0], quality)
    assert shown.probability == pytest.approx(quality.score(german[:1], english[:1])[0])
    total = sum(shown.parts.values()) + quality.function.intercept
    assert 1 / (1 + np.exp(-total)) == pytest.approx(shown.probability)
    assert explain(quality.verifier, "", "house", quality).probability == 0


def test_tokens_match_by_similarity_or_translation(found, german, english):
    assert found.verifier is not None
    matched = []
    for source, target in ((german[0], english[0]), (german[0], english[9])):
        for side in match(found.verifier, source, target):
            for token in side:
                alike = token.similarity >= MATCHED or token.probability >= TRANSLATED
                assert (token.partner is not None) == alike
                matched.append(alike)
    assert set(matched) == {False, True}


def test_all_of_a_long_pair_is_matched(found, german, english):
    assert found.verifier is not None
    sides = match(found.verifier, " ".join(german), " ".join(english))
    for side, other in zip(sides, sides[::-1], strict=True):
        partners = [token.partner for token in side]
        assert len(side) > 300
        tail = [partner for partner in partners[-50:] if partner is not None]
        assert len(tail) > 10 and min(tail) > len(other) - 150, "counterparts near their place"
