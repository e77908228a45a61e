"""Normalisation of sentences before they are cut into units, by SentencePiece."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from miner.text.invisible import visible

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class Normaliser:
    """SentencePiece's normalisation of many visible sentences in one call; thread-safe.

    Lone surrogates become U+FFFD.
    """

    # A private-use character, which normalisation does not change.
    SEPARATOR = "\ue000"

    def __init__(self, normalizer: Any):
        self._normalizer = normalizer

    @classmethod
    @lru_cache(2)
    def by_rule(cls, fold_case: bool) -> "Normaliser":
        """SentencePiece's variant of NFKC, with or without case folding."""
        from sentencepiece import SentencePieceNormalizer

        rule = "nmt_nfkc_cf" if fold_case else "nmt_nfkc"
        return cls(
            SentencePieceNormalizer(
                rule_name=rule,
                add_dummy_prefix=False,
                escape_whitespaces=False,
                remove_extra_whitespaces=True,
            )
        )

    def __call__(self, sentences: Sequence[str]) -> list[str]:
        # One call for all sentences: each call takes and releases the interpreter's lock, and
        # several threads would spend most of their time waiting for it.
        joined = _LONE_SURROGATE.sub("\ufffd", visible(self.SEPARATOR.join(sentences)))
        if joined.count(self.SEPARATOR) == len(sentences) - 1:
            normalised = self._normalizer.normalize(joined).split(self.SEPARATOR)
            return [text.strip(" ") for text in normalised]
        cleaned = [_LONE_SURROGATE.sub("\ufffd", visible(sentence)) for sentence in sentences]
        return list(self._normalizer.normalize(cleaned))
