"""Export of an encoder for sentence-transformers and model2vec, which need not be installed.

One directory serves both libraries: a table in the format safetensors, a tokenizer, and a card.
Only a mean of piece embeddings can be exported. The tokenizer is a Unigram of the library
``tokenizers`` with the same pieces, scores and normalisation. Both cut text alike, except for rare
Unicode. Pieces that our encoder ignores have zero rows, which do not change the direction of a
mean.
"""

import base64
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from miner.encoder.architecture import VOCABULARIES
from miner.encoder.encoder import Encoder
from miner.encoder.model import Model
from miner.encoder.model_info import CARD as MODEL_CARD
from miner.encoder.unigram_model import SPACE_MARK, fields
from miner.errors import ArtifactError
from miner.text.artifacts import atomic_directory
from miner.text.language_codes import describe

# File that marks an export; only a directory that has it is replaced.
MARKER = "modules.json"
# Folder for the whole model in a repository of Hugging Face.
HUB_FOLDER = "bitext-miner"
# Types of a table, by their names in the header of a safetensors file.
DTYPES = {"float32": "F32", "float16": "F16"}
MODULES = "sentence_transformers.models"
# Numbers of the fields of ModelProto and NormalizerSpec (sentencepiece_model.proto).
NORMALIZER_SPEC = 3
CHARSMAP, DUMMY_PREFIX, EXTRA_WHITESPACES = 2, 3, 4
CARD = """\
A vector is the normalised mean of the embeddings of SentencePiece pieces, case folded where the
model folds case. Exported by bitext-miner from a model with the fingerprint {fingerprint}.

```python
from model2vec import StaticModel

vectors = StaticModel.from_pretrained("DIR").encode(["Guten Morgen!", "Good morning!"])
```

```python
from sentence_transformers import SentenceTransformer

model = SentenceTransformer("DIR", device="cpu")
vectors = model.encode(["Guten Morgen!", "Good morning!"], batch_size=1024)
```
"""


HUB_CARD = """\
## With bitext-miner

The folder `{folder}` has the whole model, which also verifies, scores and filters pairs:

```console
miner model get hf:USER/NAME -o models/NAME
miner mine news.de news.en --model models/NAME -o pairs.tsv
```
"""
LIMITS = """
## Limits

Vectors compare words: they hardly see order, negation and small facts. A model knows text like that
which it was trained on. It is weak in languages of which it read little.
"""


def export(
    model: Model,
    place: str | Path,
    dtype: str = "float32",
    licence: str | None = None,
    hub: bool = False,
) -> None:
    """Write ``model`` to the directory ``place``; an older export there is replaced.

    ``dtype`` is float32 or float16. ``licence`` is an identifier for the card, such as
    ``cc-by-4.0``. ``hub`` adds the whole model, for a repository of a model hub. Raises
    ArtifactError for a model that is not a mean of pieces, or has no directory that a hub could
    get.
    """
    encoder = _checked(model)
    if hub and model.path is None:
        raise ArtifactError("save the model before it is exported for a hub")
    table = piece_table(encoder, dtype)
    kinds = ((".", "StaticEmbedding"), ("1_Normalize", "Normalize"))
    modules = [
        {"idx": number, "name": str(number), "path": path, "type": f"{MODULES}.{kind}"}
        for number, (path, kind) in enumerate(kinds)
    ]
    config = {
        "model_type": "model2vec",
        "architectures": ["StaticModel"],
        "hidden_dim": int(table.shape[1]),
        "normalize": True,
        "max_length": None,
        "embedding_dtype": dtype,
    }
    files = {
        MARKER: modules,
        "config.json": config,
        "tokenizer.json": tokenizer_json(encoder, model.vocabularies[VOCABULARIES["piece"]]),
    }
    with atomic_directory(place, marker=MARKER) as directory:
        for name, values in files.items():
            text = json.dumps(values, ensure_ascii=False) + "\n"
            (directory / name).write_text(text, encoding="utf-8")
        write_safetensors(directory / "model.safetensors", {"embeddings": table})
        (directory / "README.md").write_text(card(model, licence, hub), encoding="utf-8")
        if hub and model.path is not None:
            shutil.copytree(model.path, directory / HUB_FOLDER)


def piece_table(encoder: Encoder, dtype: str = "float32") -> np.ndarray:
    """Return the embeddings ``(V, d)`` of all pieces, zero for pieces that the encoder ignores."""
    table = encoder.model.parts[0].table().copy()
    table[~encoder.tokenizer.meaningful] = 0
    return table.astype(dtype)


def tokenizer_json(encoder: Encoder, vocabulary: bytes) -> dict[str, Any]:
    """Return a tokenizer of the library ``tokenizers`` with the ids of SentencePiece, as JSON."""
    processor = encoder.tokenizer.processor  # type: ignore[attr-defined]
    pieces = [
        [processor.id_to_piece(piece), processor.get_score(piece)]
        for piece in range(processor.get_piece_size())
    ]
    unknown = processor.unk_id()
    spec = normalizer_spec(vocabulary)
    normalizers: list[dict[str, Any]] = []
    if spec.charsmap:
        charsmap = base64.b64encode(spec.charsmap).decode("ascii")
        normalizers.append({"type": "Precompiled", "precompiled_charsmap": charsmap})
    if spec.remove_extra_whitespaces:
        normalizers.append({"type": "Strip", "strip_left": True, "strip_right": True})
        normalizers.append({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "})
    spaces = {
        "type": "Metaspace",
        "replacement": SPACE_MARK,
        "prepend_scheme": "always" if spec.add_dummy_prefix else "never",
        "split": True,
    }
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Sequence", "normalizers": normalizers},
        "pre_tokenizer": spaces,
        "post_processor": None,
        "decoder": spaces,
        "model": {"type": "Unigram", "unk_id": unknown, "vocab": pieces, "byte_fallback": False},
    }


def write_safetensors(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays in the format safetensors: a header in JSON, then their bytes."""
    header: dict[str, Any] = {}
    end = 0
    for name, array in arrays.items():
        start, end = end, end + array.nbytes
        kind = DTYPES[str(array.dtype)]
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":")).encode("utf-8")
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in arrays.values():
            file.write(np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).data)


def _checked(model: Model) -> Encoder:
    """Open a model that can be exported."""
    name = str(model.path or "this model")
    if model.vectors is not None:
        raise ArtifactError(f"{name}: its vectors belong to {model.vectors.address}; copy that")
    if not model.architecture.plain:
        raise ArtifactError(
            f"{name}: only means of piece embeddings with one vocabulary (--encoder sp) can be "
            f"exported, not {model.architecture.encoder}"
        )
    return Encoder(model, threads=1)


def card(model: Model, licence: str | None = None, hub: bool = False) -> str:
    """Return the text of the card, with the metadata that model hubs read at its head.

    ``licence`` is an identifier such as ``cc-by-4.0``; None leaves it open, or stands for several
    licences with ``hub``. The card in the model's directory, if any, is appended.
    """
    codes = sorted(model.languages)
    head = ["---", "library_name: model2vec", "pipeline_tag: sentence-similarity"]
    if licence is not None:
        head.append(f"license: {licence}")
    elif hub:
        head += ["license: other", "license_name: those-of-the-training-text"]
    head += ["language:", *(f"- {code}" for code in codes)] if codes else []
    head += ["tags:", "- sentence-similarity", "- bitext-mining", "- static-embeddings"]
    head += ["- sentence-transformers", "---"]
    name = model.path.name if model.path is not None else "model"
    lines = [
        *head,
        "",
        f"# {name}",
        "",
        f"Sentence vectors for bitext mining: {model.describe()}.",
        CARD.format(fingerprint=model.fingerprint).replace("DIR", "USER/NAME" if hub else "DIR"),
        *([HUB_CARD.format(folder=HUB_FOLDER)] if hub else []),
        *_figures(model),
    ]
    path = model.path / MODEL_CARD if model.path is not None else None
    if path is None or not path.is_file():
        lines.append(LIMITS)
    else:
        text = path.read_text(encoding="utf-8")
        # Headings move down a level, because the page has one of the first level.
        shown = [f"#{line}" if line.startswith("#") else line for line in text.splitlines()]
        lines += ["", *shown]
    return "\n".join(lines) + "\n"


def _figures(model: Model) -> list[str]:
    """Return lines about the training text and the metrics recorded by the training."""
    training = model.training
    lines = []
    if "pairs" in training:
        lines.append(f"Trained on {training['pairs']:,} pairs.")
    for text in training.get("text", []):
        lines.append(f"- {text['name']}: {text['pairs']:,} pairs")
    if training.get("held-out mining F1") is not None:
        lines += ["", f"F1 of mining held-out pairs: {training['held-out mining F1']:.3f}."]
    if model.languages and not (model.path is not None and (model.path / MODEL_CARD).is_file()):
        lines += ["", "| language | training pairs | known |", "|---|---|---|"]
        lines += [
            f"| {describe(code)} | {facts.pairs:,} | {facts.level} |"
            for code, facts in model.languages.items()
        ]
    return lines


@dataclass(frozen=True)
class NormalizerSpec:
    """Settings of normalisation: character map, space before a sentence, removal of repeated
    spaces.
    """

    charsmap: bytes = b""
    add_dummy_prefix: bool = True
    remove_extra_whitespaces: bool = True


def normalizer_spec(vocabulary: bytes) -> NormalizerSpec:
    """Read the normalisation of a SentencePiece model."""
    spec = NormalizerSpec()
    for number, span in fields(vocabulary, 0, len(vocabulary)):
        if number == NORMALIZER_SPEC and isinstance(span, slice):
            known = dict(fields(vocabulary, span.start, span.stop))
            charsmap = known.get(CHARSMAP)
            spec = NormalizerSpec(
                vocabulary[charsmap] if isinstance(charsmap, slice) else b"",
                bool(known.get(DUMMY_PREFIX, True)),
                bool(known.get(EXTRA_WHITESPACES, True)),
            )
    return spec
