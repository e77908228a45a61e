"""Model card of an export: languages, data, licences, figures, and one line to load it."""

from miner.encoder.model import Model
from miner.encoder.model_info import CARD
from miner.text.language_codes import describe

LOADING = {
    "sentence-transformers": """\
from sentence_transformers import SentenceTransformer

model = SentenceTransformer("DIR", device="cpu")
vectors = model.encode(["Guten Morgen!", "Good morning!"], batch_size=1024)""",
    "model2vec": """\
from model2vec import StaticModel

model = StaticModel.from_pretrained("DIR")
vectors = model.encode(["Guten Morgen!", "Good morning!"])""",
    "onnx": """\
import onnxruntime, tokenizers

tokenizer = tokenizers.Tokenizer.from_file("DIR/tokenizer.json")
tokenizer.enable_padding()
found = tokenizer.encode_batch(["Guten Morgen!", "Good morning!"], add_special_tokens=False)
session = onnxruntime.InferenceSession("DIR/model.onnx")
vectors = session.run(None, {
    "input_ids": [one.ids for one in found],
    "attention_mask": [one.attention_mask for one in found],
})[0]""",
    "safetensors": """\
import safetensors.numpy, tokenizers

tokenizer = tokenizers.Tokenizer.from_file("DIR/tokenizer.json")
table = safetensors.numpy.load_file("DIR/model.safetensors")["embedding.weight"]
# A vector is the mean of the rows of a sentence's ids, divided by its length.""",
}


def card(model: Model, to: str, licence: str | None = None) -> str:
    """Return the text of the card, with the metadata that model hubs read at its head.

    ``licence`` is an identifier such as ``cc-by-4.0``; None leaves the choice to its reader. The
    model's own card follows, if its directory has one.
    """
    codes = sorted(model.languages)
    head = ["---"]
    if to in ("sentence-transformers", "model2vec"):
        head.append(f"library_name: {to}")
    head.append("pipeline_tag: sentence-similarity")
    if licence is not None:
        head.append(f"license: {licence}")
    head += ["language:", *(f"- {code}" for code in codes)] if codes else []
    head += ["tags:", "- sentence-similarity", "- bitext-mining", "- static-embeddings", "---"]
    name = model.path.name if model.path is not None else "model"
    lines = [
        *head,
        "",
        f"# {name}",
        "",
        f"Sentence vectors for bitext mining: {model.describe()}. A vector is the normalised mean "
        "of the embeddings of SentencePiece pieces, case folded where the model folds case. "
        f"Exported by bitext-miner from a model with the fingerprint {model.fingerprint}.",
        "",
        "```python",
        LOADING[to],
        "```",
        "",
        *_figures(model),
    ]
    own = model.path / CARD if model.path is not None else None
    if own is not None and own.is_file():
        text = own.read_text(encoding="utf-8")
        # One heading of the first level a page.
        shown = [f"#{line}" if line.startswith("#") else line for line in text.splitlines()]
        lines += ["", *shown]
    return "\n".join(lines) + "\n"


def _figures(model: Model) -> list[str]:
    """Lines on the training text and the metrics that the training recorded."""
    training = model.training
    lines = []
    if "pairs" in training:
        lines.append(f"Trained on {training['pairs']:,} pairs.")
    for one in training.get("text", []):
        lines.append(f"- {one['name']}: {one['pairs']:,} pairs")
    if training.get("held-out mining F1") is not None:
        lines += ["", f"F1 of mining held-out pairs: {training['held-out mining F1']:.3f}."]
    if model.languages and not (model.path is not None and (model.path / CARD).is_file()):
        lines += ["", "| language | training pairs |", "|---|---|"]
        lines += [f"| {describe(code)} | {one.pairs:,} |" for code, one in model.languages.items()]
    return lines
