"""Paraphrase generator: a directory of ``miner paraphrase train``, and its use (P18).

``config.json`` holds format, sizes, settings and the SHA-256 of the other files; ``sp.model`` the
SentencePiece model and ``generator.npz`` the float32 arrays of the network by name.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from miner.encoder.pretrained import torch_threads
from miner.errors import ArtifactError
from miner.json_files import read_json
from miner.libraries import library
from miner.machine import thread_count
from miner.text.artifacts import atomic_directory
from miner.text.file_digests import file_sha256
from miner.text.words import tokens
from miner_train.papers.generation import Decoding
from miner_train.papers.translators import Translation, distinct

if TYPE_CHECKING:
    from miner_train.papers.generator_network import GeneratorNetwork

FORMAT, VERSION = "bitext-miner generator", 1
CONFIG, PIECES, WEIGHTS = "config.json", "sp.model", "generator.npz"
# Sentences decoded together; maximum pieces of a sentence that are read.
ROWS, LONGEST = 32, 200


@dataclass(frozen=True)
class Sizes:
    pieces: int
    dimension: int
    heads: int
    layers: int


@dataclass(frozen=True, eq=False)
class Generator:
    """Generator in memory: vocabulary, sizes and arrays of the network.

    ``fold_case`` generators read lower-case words with spaces around punctuation, the format of the
    built-in translator. ``training`` is the record of the training.
    """

    vocabulary: bytes
    sizes: Sizes
    weights: Mapping[str, np.ndarray]
    fold_case: bool = True
    training: Mapping[str, Any] = field(default_factory=dict)

    def save(self, path: str | Path) -> None:
        """Write the directory as a whole. Raises ArtifactError and ResourceError."""
        with atomic_directory(path, WEIGHTS) as directory:
            (directory / PIECES).write_bytes(self.vocabulary)
            with (directory / WEIGHTS).open("wb") as file:
                np.savez(file, **self.weights)  # type: ignore[arg-type]
            config = {
                "format": FORMAT,
                "version": VERSION,
                "sizes": asdict(self.sizes),
                "fold_case": self.fold_case,
                "training": dict(self.training),
                "files": {name: file_sha256(directory / name) for name in (PIECES, WEIGHTS)},
            }
            text = json.dumps(config, indent=1, ensure_ascii=False) + "\n"
            (directory / CONFIG).write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Generator:
        """Read a directory of :meth:`save`. Raises ArtifactError."""
        directory = Path(path)
        try:
            config = read_json(directory / CONFIG)
            if config["format"] != FORMAT or config["version"] != VERSION:
                raise KeyError("format")
            for name, expected in config["files"].items():
                if file_sha256(directory / name) != expected:
                    raise ArtifactError(f"{directory / name}: is damaged; copy or train it again")
            with np.load(directory / WEIGHTS, allow_pickle=False) as arrays:
                weights = dict(arrays)
            sizes, fold_case = Sizes(**config["sizes"]), bool(config["fold_case"])
            vocabulary = (directory / PIECES).read_bytes()
        except OSError as error:
            raise ArtifactError(f"{directory}: no generator ({error.strerror})") from None
        except (ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile):
            raise ArtifactError(
                f"{directory}: no generator of this version; make one by 'miner paraphrase train'"
            ) from None
        return cls(vocabulary, sizes, weights, fold_case, config["training"])

    @cached_property
    def processor(self) -> Any:
        from sentencepiece import SentencePieceProcessor

        return SentencePieceProcessor(model_proto=self.vocabulary)

    @property
    def fingerprint(self) -> str:
        """Return a digest of everything that the output depends on."""
        digest = hashlib.sha256(self.vocabulary)
        for name in sorted(self.weights):
            digest.update(self.weights[name].tobytes())
        return digest.hexdigest()[:16]

    def source_ids(self, sentences: Sequence[str]) -> list[list[int]]:
        """Return the token ids of sentences to read, at most `LONGEST` per sentence."""
        read = [as_input(text, self.fold_case) for text in sentences]
        return [pieces[:LONGEST] for pieces in self.processor.encode(read)]

    def network(self, device: str = "cpu") -> GeneratorNetwork:
        """Return the network, ready to decode."""
        library("torch", "a generator", "train")
        from miner_train.papers.generator_network import GeneratorNetwork, fill

        return fill(GeneratorNetwork(**asdict(self.sizes)), self.weights).to(device).eval()


def as_input(text: str, fold_case: bool) -> str:
    """Return a sentence in the form that a generator reads."""
    return " ".join(tokens(text)) if fold_case else text


class Rewriter:
    """Generator on a device, with the interface of a translator: it paraphrases each sentence."""

    def __init__(
        self,
        generator: Generator,
        decoding: Decoding = Decoding(),
        device: str = "cpu",
        threads: int | None = None,
    ):
        self.generator, self.decoding = generator, decoding
        self.threads = thread_count(threads)
        self.network = generator.network(device)

    def translate(self, sentences: Sequence[str], k: int) -> list[list[Translation]]:
        """Return up to ``k`` sentences for each, likeliest first; none for blank ones.

        Random numbers follow only from the seed and the sentence.
        """
        ids = self.generator.source_ids(sentences)
        rewritten: list[list[Translation]] = [[] for _ in sentences]
        known = [row for row, pieces in enumerate(ids) if pieces]
        known.sort(key=lambda row: -len(ids[row]))  # a batch is as long as its longest sentence
        decode = self.generator.processor.decode
        with torch_threads(self.threads):
            for start in range(0, len(known), ROWS):
                rows = known[start : start + ROWS]
                for row, decoded in zip(rows, self._decoded(sentences, ids, rows, k), strict=True):
                    texts = distinct((decode(pieces), cost) for pieces, cost in decoded)
                    rewritten[row] = texts[:k]
        return rewritten

    def _decoded(
        self, sentences: Sequence[str], ids: list[list[int]], rows: list[int], k: int
    ) -> list[list[tuple[list[int], float]]]:
        from miner_train.papers.generator_network import beam_search, limit, sample

        pieces, how = [ids[row] for row in rows], self.decoding
        if not how.sample:
            return beam_search(self.network, pieces, k, max(k, how.beam))
        numbers = [
            np.random.default_rng([how.seed, _number(sentences[row])]).random(
                (k, limit(ids[row])), dtype=np.float32
            )
            for row in rows
        ]
        return sample(self.network, pieces, numbers, how.temperature, how.nucleus)


def _number(text: str) -> int:
    encoded = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(encoded, digest_size=8).digest(), "big")
