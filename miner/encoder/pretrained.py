"""Encoders that sentence-transformers and model2vec load, from a directory or from their hub.

Both libraries are imported when an encoder is opened. A directory is never looked up on the hub.
"""

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from miner.device import resolve_device
from miner.encoder.foreign_encoder import ForeignEncoder
from miner.encoder.loading import HF, MODEL2VEC, USUAL, Loading, split_name
from miner.errors import ArtifactError, DependencyError, MinerError, reason
from miner.libraries import library
from miner.machine import thread_count
from miner.text.file_digests import file_sha256

# Characters of a padded batch: of transformers on a CPU and on a GPU, and of averages of
# embeddings, where a batch of a few words is too little for two threads.
BATCH, GPU_BATCH, STATIC_BATCH = 1 << 13, 1 << 15, 1 << 17
# Characters assumed for a prompt and the marks around a sentence.
PROMPT = 10
# Suffixes of files that affect the vectors; backends with a weights directory of that name.
SUFFIXES = (".json", ".safetensors", ".bin", ".model", ".txt", ".npy", ".npz", ".onnx", ".xml")
EXPORTED = ("onnx", "openvino")
# Files that mark the directory of an encoder; at least one must be there.
MARKERS = {HF: ("modules.json", "config.json"), MODEL2VEC: ("config.json",)}
CARD = "README.md"
NAME = (
    "name a directory with an encoder, or one of the hub (HF_HUB_OFFLINE=1 keeps to what was "
    "downloaded)"
)
LICENCE = re.compile(r"^licen[cs]e:\s*[\"']?([^\"'\n#]+)", re.MULTILINE)


def open_pretrained(
    name: str, loading: Loading, threads: int | None, device: str, side: str | None = None
) -> ForeignEncoder:
    """Open ``hf:PLACE`` or ``model2vec:PLACE``, a directory or a name of the hub.

    Raises ArtifactError for a place without an encoder, DependencyError for a missing library.
    """
    parts = split_name(name)
    assert parts is not None
    kind, address = parts
    local = _directory(kind, address)
    if kind == HF:
        return SentenceTransformerModel(local or address, local, loading, threads, device, side)
    if loading != USUAL:
        raise ArtifactError(f"{name}: prompts and --runtime are for hf: models; leave them out")
    return Model2VecModel(local or address, local, threads)


class SentenceTransformerModel(ForeignEncoder):
    """Model of sentence-transformers. Sentences that it cuts are counted, of both sides."""

    def __init__(
        self,
        address: str,
        local: str | None,
        loading: Loading,
        threads: int | None,
        device: str,
        side: str | None,
    ):
        self.name, self.loading = f"{HF}:{address}", loading
        transformers = library("sentence_transformers", self.name, "hf")
        self._threads = thread_count(threads)
        self.device = resolve_device(device)
        with suppress(ImportError):  # progress bars for parts of a model
            import_module("transformers.utils.logging").disable_progress_bar()
        with loads(self.name), torch_threads(self._threads):
            self.loaded = transformers.SentenceTransformer(
                address,
                device=self.device,
                backend=loading.backend,
                local_files_only=local is not None,
            )
        directory = _snapshot(address, local)
        self.licence = stated_licence(directory)
        usual_prompt = _usual_prompt(self.loaded)
        self.prompts = (
            usual_prompt if loading.source_prompt is None else loading.source_prompt,
            usual_prompt if loading.target_prompt is None else loading.target_prompt,
        )
        self.fingerprint = directory_digest(directory, loading.backend)
        if any(self.prompts):
            texts = "\0".join([self.fingerprint, *dict.fromkeys(self.prompts)])
            self.fingerprint = hashlib.sha256(texts.encode()).hexdigest()[:16]
        longest = self.loaded.max_seq_length
        self.longest = int(longest) if longest and longest < 1 << 24 else None
        self._cut: Counter[str] = Counter()  # one counter for both sides
        static = self.longest is None
        self._batch = STATIC_BATCH if static else BATCH if self.device == "cpu" else GPU_BATCH
        super().__init__(side)

    def library_vectors(self, sentences: list[str], prompt: str) -> Any:
        self._cut["sentences"] += self._count_cut(sentences, prompt)
        parts = []
        order = np.argsort([len(sentence) for sentence in sentences], kind="stable")
        with torch_threads(self._threads):
            for rows in self._batches(sentences, order.tolist()):
                batch = [sentences[row] for row in rows]
                parts.append(
                    self.loaded.encode(
                        batch,
                        prompt=prompt,
                        batch_size=len(batch),
                        show_progress_bar=False,
                        convert_to_numpy=True,
                    )
                )
        return np.concatenate(parts)[np.argsort(order)]

    def _batches(self, sentences: list[str], order: list[int]) -> Iterator[list[int]]:
        """Yield batches of rows in ``order``, sorted by length, as many as fit a padded batch."""
        start = 0
        for end in range(1, len(order) + 1):
            more = end < len(order) and len(sentences[order[end]]) + PROMPT
            if not more or more * (end + 1 - start) > self._batch:
                yield order[start:end]
                start = end

    def warnings(self) -> list[str]:
        cut = self._cut["sentences"]
        if not cut:
            return []
        return [
            f"{self.name} reads {self.longest} tokens: {cut:,} longer sentences were cut, "
            "and their ends do not count"
        ]

    def _count_cut(self, sentences: list[str], prompt: str) -> int:
        """Count the sentences of more tokens than the model reads."""
        # A token takes at least one byte; only longer texts can have too many tokens.
        longest = self.longest
        if longest is None:
            return 0
        doubtful = [
            prompt + sentence
            for sentence in sentences
            if len((prompt + sentence).encode("utf-8", "replace")) + 4 > longest
        ]
        if not doubtful:
            return 0
        try:
            tokenized = self.loaded.tokenizer(
                doubtful,
                truncation=False,
                padding=False,
                return_attention_mask=False,
                return_token_type_ids=False,
                verbose=False,
            )
            return sum(len(ids) > longest for ids in tokenized["input_ids"])
        except (TypeError, KeyError, AttributeError, ValueError):
            return 0  # a tokenizer of another kind, without this information


class Model2VecModel(ForeignEncoder):
    """Model of model2vec: a mean of embeddings. No sentence is cut."""

    def __init__(self, address: str, local: str | None, threads: int | None):
        self.name = f"{MODEL2VEC}:{address}"
        model2vec = library("model2vec", self.name, "hf")
        self._threads = thread_count(threads)
        with loads(self.name):
            # Cached files are not downloaded again.
            self.loaded = model2vec.StaticModel.from_pretrained(address, force_download=False)
        directory = _snapshot(address, local)
        self.fingerprint, self.licence = directory_digest(directory), stated_licence(directory)
        super().__init__()

    def library_vectors(self, sentences: list[str], prompt: str) -> np.ndarray:
        _quiet_tokenizers(self._threads)
        # With multiprocessing, every process of the library would start its own threads.
        return self.loaded.encode(sentences, max_length=None, use_multiprocessing=False)


@contextmanager
def torch_threads(threads: int) -> Iterator[None]:
    """Limit torch and ``tokenizers`` to ``threads``."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    _quiet_tokenizers(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def directory_digest(directory: Path, backend: str = "torch") -> str:
    """Hash the names and SHA-256 of the files that affect an encoder's vectors."""
    digest = hashlib.sha256()
    for path in _files(directory, backend):
        digest.update(f"{path.relative_to(directory).as_posix()}\n{file_sha256(path)}\n".encode())
    return digest.hexdigest()[:16]


def stated_licence(directory: Path) -> str | None:
    """Return the licence in the head of a model card, or None."""
    card = directory / CARD
    if not card.is_file():
        return None
    text = card.read_text(encoding="utf-8", errors="replace")
    if not text.startswith("---"):
        return None
    match = LICENCE.search(text[3:].partition("\n---")[0])
    return match.group(1).strip() if match else None


def _files(directory: Path, backend: str) -> list[Path]:
    """Return the files of a backend; weights of the older format only without newer ones."""
    paths = []
    for path in sorted(directory.rglob("*")):
        parts = path.relative_to(directory).parts
        hidden = any(part.startswith(".") for part in parts)
        other = any(part in EXPORTED and part != backend for part in parts[:-1])
        if path.is_file() and path.suffix in SUFFIXES and not hidden and not other:
            paths.append(path)
    newer = {path.parent for path in paths if path.suffix == ".safetensors"}
    return [path for path in paths if path.suffix != ".bin" or path.parent not in newer]


def _directory(kind: str, address: str) -> str | None:
    """Return the absolute path of a directory with an encoder; None for a name of the hub."""
    if not address:
        raise ArtifactError(f"{kind}: names no encoder; write {kind}:DIR or {kind}:NAME")
    path = Path(address).expanduser()
    if not path.is_dir():
        if path.is_absolute() or address.startswith((".", "~")) or address.count("/") > 1:
            raise ArtifactError(f"{kind}:{address}: no such directory")
        return None
    if not any((path / name).is_file() for name in MARKERS[kind]):
        raise ArtifactError(
            f"{kind}:{address}: no encoder in this directory (neither "
            f"{' nor '.join(MARKERS[kind])} is there)"
        )
    if (path / "config.json").is_file():
        start = (path / "config.json").read_text(encoding="utf-8", errors="replace")[:200]
        if '"bitext-miner model"' in start:
            raise ArtifactError(f"{kind}:{address}: a model of this program; leave out {kind}:")
    return str(path.resolve())


def _snapshot(address: str, local: str | None) -> Path:
    """Return the directory of a loaded encoder."""
    if local is not None:
        return Path(local)
    hub = import_module("huggingface_hub")
    return Path(hub.snapshot_download(address, local_files_only=True))


@contextmanager
def loads(name: str) -> Iterator[None]:
    """Convert a library's exception on loading to a message of one line."""
    try:
        yield
    except MinerError:
        raise
    except ImportError as error:
        raise DependencyError(f"{name}: {reason(error)}") from None
    except Exception as error:
        raise ArtifactError(f"{name}: cannot be loaded ({reason(error)}); {NAME}") from None


def _usual_prompt(model: Any) -> str:
    """Return the default prompt of a model's configuration, "" without one.

    If there is no default, it is the prompt of queries: models with prompts for queries and
    documents should read both sides of a symmetric task as queries (E5, Wang et al. 2024).
    """
    prompts = model.prompts or {}
    return prompts.get(model.default_prompt_name) or prompts.get("query") or ""


def _quiet_tokenizers(threads: int) -> None:
    """Limit the library ``tokenizers`` to one thread if only one is requested."""
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if threads > 1 else "false"
