"""Export of an encoder to the formats of other libraries, which need not be installed.

Only a mean of piece embeddings can be exported: it is a table and a tokenizer. The tokenizer is a
Unigram of the library ``tokenizers`` with the same pieces, scores and normalisation. Both libraries
cut text alike but for rare Unicode; :func:`differing_sentences` counts.
Pieces that our encoder ignores have zero rows, which change no direction.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from miner.encoder.architecture import VOCABULARIES
from miner.encoder.encoder import Encoder
from miner.encoder.model import Model
from miner.encoder.pieces import SPACE_MARK
from miner.encoder.sentencepiece_proto import normalizer_spec
from miner.errors import ArtifactError
from miner.libraries import library
from miner.text.artifacts import atomic_directory

FORMATS = ("sentence-transformers", "model2vec", "onnx", "safetensors")
# File that marks a directory of each kind; only a directory that has it is replaced.
MARKERS = {name: "tokenizer.json" for name in FORMATS} | {FORMATS[0]: "modules.json"}
CARD = "README.md"
WEIGHTS = "model.safetensors"
ONNX = "model.onnx"
# Types of a table, by their names in the header of a safetensors file.
DTYPES = {"float32": "F32", "float16": "F16"}
MODULES = "sentence_transformers.models"
OPSET = 17
# Sentences that are compared at a time.
BLOCK = 2000


def export(model: Model, place: str | Path, to: str, card: str, dtype: str = "float32") -> Path:
    """Write ``model`` to the directory ``place`` in one of :data:`FORMATS`.

    ``card`` is the text of its README.md. An older export at ``place`` is replaced. Raises
    ArtifactError for a model that is no mean of pieces, DependencyError for onnx without it.
    """
    encoder = _checked(model)
    table = piece_table(encoder, dtype)
    vocabulary = model.vocabularies[VOCABULARIES["piece"]]
    with atomic_directory(place, marker=MARKERS[to]) as directory:
        inside = directory / "0_StaticEmbedding"
        if to == "sentence-transformers":
            inside.mkdir()
            _write_json(directory / "modules.json", _modules(inside.name))
            _write_json(
                directory / "config_sentence_transformers.json",
                {"similarity_fn_name": "cosine", "prompts": {}, "default_prompt_name": None},
            )
        elif to == "model2vec":
            inside = directory
            _write_json(directory / "modules.json", _modules("."))
            _write_json(directory / "config.json", _model2vec_config(table))
        elif to == "safetensors":
            inside = directory
            (directory / VOCABULARIES["piece"]).write_bytes(vocabulary)
        else:
            inside = directory
            _write_onnx(directory / ONNX, table)
        _write_json(inside / "tokenizer.json", tokenizer_json(encoder, vocabulary))
        if to != "onnx":
            name = "embeddings" if to == "model2vec" else "embedding.weight"
            write_safetensors(inside / WEIGHTS, {name: table})
        (directory / CARD).write_text(card, encoding="utf-8")
    return Path(place)


def piece_table(encoder: Encoder, dtype: str = "float32") -> np.ndarray:
    """Return the embeddings ``(V, d)`` of all pieces, zero for those that the encoder ignores."""
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
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Sequence", "normalizers": normalizers},
        "pre_tokenizer": {
            "type": "Metaspace",
            "replacement": SPACE_MARK,
            "prepend_scheme": "always" if spec.add_dummy_prefix else "never",
            "split": True,
        },
        "post_processor": None,
        "decoder": {
            "type": "Metaspace",
            "replacement": SPACE_MARK,
            "prepend_scheme": "always" if spec.add_dummy_prefix else "never",
            "split": True,
        },
        "model": {"type": "Unigram", "unk_id": unknown, "vocab": pieces, "byte_fallback": False},
    }


def differing_sentences(directory: Path, model: Model, sentences: Sequence[str]) -> int:
    """Count the sentences that the exported tokenizer cuts otherwise than ours.

    Raises DependencyError without the library ``tokenizers``.
    """
    tokenizers = library("tokenizers", "a comparison of tokenizers")
    path = next(iter(sorted(directory.rglob("tokenizer.json"))))
    theirs, processor = tokenizers.Tokenizer.from_file(str(path)), _checked(model).tokenizer
    count = 0
    for start in range(0, len(sentences), BLOCK):
        block = list(sentences[start : start + BLOCK])
        found = theirs.encode_batch(block, add_special_tokens=False)
        ids, offsets = processor(block)
        for row, one in enumerate(found):
            own = np.array(one.ids, dtype=np.int32)
            own = own[processor.meaningful[own]]
            count += not np.array_equal(own, ids[offsets[row] : offsets[row + 1]])
    return count


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


def _modules(path: str) -> list[dict[str, Any]]:
    kinds = ((path, "StaticEmbedding"), ("1_Normalize", "Normalize"))
    return [
        {"idx": number, "name": str(number), "path": place, "type": f"{MODULES}.{kind}"}
        for number, (place, kind) in enumerate(kinds)
    ]


def _model2vec_config(table: np.ndarray) -> dict[str, Any]:
    return {
        "model_type": "model2vec",
        "architectures": ["StaticModel"],
        "hidden_dim": int(table.shape[1]),
        "normalize": True,
        "max_length": None,
        "embedding_dtype": str(table.dtype),
    }


def _write_json(path: Path, values: Any) -> None:
    path.write_text(json.dumps(values, ensure_ascii=False) + "\n", encoding="utf-8")


def _write_onnx(path: Path, table: np.ndarray) -> None:
    """Write a graph ``input_ids, attention_mask (b, t) int64 → sentence_embedding (b, d)``."""
    onnx, helper, numpy_helper = (
        library(name, "an export to onnx") for name in ("onnx", "onnx.helper", "onnx.numpy_helper")
    )
    types = onnx.TensorProto
    nodes = [
        helper.make_node("Gather", ["embeddings", "input_ids"], ["rows"]),  # (b, t, d)
        helper.make_node("Cast", ["rows"], ["wide"], to=types.FLOAT),
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=types.FLOAT),
        helper.make_node("Unsqueeze", ["mask", "last"], ["column"]),  # (b, t, 1)
        helper.make_node("Mul", ["wide", "column"], ["masked"]),
        helper.make_node("ReduceSum", ["masked", "middle"], ["sum"], keepdims=0),  # (b, d)
        helper.make_node("Mul", ["sum", "sum"], ["squares"]),
        helper.make_node("ReduceSum", ["squares", "one"], ["square"], keepdims=1),
        helper.make_node("Sqrt", ["square"], ["root"]),
        helper.make_node("Max", ["root", "least"], ["length"]),
        helper.make_node("Div", ["sum", "length"], ["sentence_embedding"]),
    ]
    inputs = [
        helper.make_tensor_value_info(name, types.INT64, ["batch", "tokens"])
        for name in ("input_ids", "attention_mask")
    ]
    shape = ["batch", int(table.shape[1])]
    output = helper.make_tensor_value_info("sentence_embedding", types.FLOAT, shape)
    constants = {
        "embeddings": table,
        "last": np.array([2], dtype=np.int64),
        "middle": np.array([1], dtype=np.int64),
        "one": np.array([1], dtype=np.int64),
        "least": np.array([1e-12], dtype=np.float32),
    }
    tensors = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "mean of pieces", inputs, [output], tensors)
    found = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    onnx.checker.check_model(found)
    onnx.save(found, str(path))
