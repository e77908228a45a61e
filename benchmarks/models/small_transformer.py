"""Train a small multilingual transformer in place of other libraries' encoders.

It has four layers of 256 dimensions over the pieces of the shipped model, whose vectors, reduced by
PCA, are its frozen word embeddings: in a quarter of an hour on a core only the layers can be
trained. The vector is the mean of the last states; the objective is the in-batch softmax over
translations.
"""

import json
import time
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path

import numpy as np

from miner import Encoder
from miner.encoder.export import piece_table, tokenizer_json

LAYERS, WIDTH, HEADS = 4, 256, 4
# Maximum tokens of a sentence, and pairs per step.
LONGEST, BATCH = 64, 64
RATE, WARM_UP, SCALE = 5e-4, 0.05, 20.0
# Batches cut from one run of pairs sorted by length.
SORTED = 50
SEED = 1
RECORD = "recipe.json"

Pair = tuple[str, str]


def trained(pairs: Sequence[Pair], place: Path, minutes: float, threads: int) -> Path:
    """Return the directory of the transformer, trained for ``minutes`` of CPU time unless there."""
    import torch

    final = place / "transformer"
    recipe = {"pairs": len(pairs), "minutes": minutes, "threads": threads}
    note = final / RECORD
    if note.exists():
        known = json.loads(note.read_text(encoding="utf-8"))
        if {name: known.get(name) for name in recipe} == recipe:
            return final
    library = import_module("sentence_transformers")
    import_module("transformers.utils.logging").disable_progress_bar()
    torch.set_num_threads(threads)
    torch.manual_seed(SEED)
    _untrained(place / "untrained")
    # Without a module list the transformer's vector is the mean of its states.
    model = library.SentenceTransformer(str(place / "untrained"), device="cpu")
    model.max_seq_length = LONGEST
    steps, loss = _train(model[0].auto_model, model.tokenizer, pairs, minutes)
    model.save(str(final))
    found = {**recipe, "steps": steps, "pairs seen": steps * BATCH, "loss": round(loss, 4)}
    note.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return final


def recipe(place: Path) -> dict[str, float]:
    """Return the record of a training."""
    return json.loads((place / RECORD).read_text(encoding="utf-8"))


def _untrained(place: Path) -> None:
    """Write the transformer with its tokenizer, before any training."""
    import torch

    transformers = import_module("transformers")
    encoder = Encoder.load("default")
    table = piece_table(encoder)
    _, axes = np.linalg.eigh(table.T.astype(np.float64) @ table)
    reduced = (table @ axes[:, ::-1][:, :WIDTH]).astype(np.float32)
    config = transformers.BertConfig(
        vocab_size=len(table),
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=4 * WIDTH,
        max_position_embeddings=LONGEST,
        pad_token_id=0,
    )
    model = transformers.BertModel(config)
    words = model.embeddings.word_embeddings.weight
    with torch.no_grad():
        # Position embeddings have the size of random word embeddings.
        words.copy_(torch.from_numpy(reduced * (0.02 * 8 / reduced.std())))
    words.requires_grad_(False)
    model.save_pretrained(place)
    file = place / "tokenizer.json"
    content = tokenizer_json(encoder, encoder.model.vocabularies["sp.model"])
    file.write_text(json.dumps(content), encoding="utf-8")
    unknown = encoder.tokenizer.processor.id_to_piece(0)  # type: ignore[attr-defined]
    transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(file),
        unk_token=unknown,
        pad_token=unknown,
        model_max_length=LONGEST,
    ).save_pretrained(place)


def _train(model, tokenizer, pairs: Sequence[Pair], minutes: float) -> tuple[int, float]:  # type: ignore[no-untyped-def]
    """Take steps until the time is over; return their number and the mean of the last losses."""
    import torch

    from miner_train.losses import softmax_loss

    model.train()
    model.embeddings.word_embeddings.weight.requires_grad_(False)
    free = [weight for weight in model.parameters() if weight.requires_grad]
    optimiser = torch.optim.AdamW(free, lr=RATE)
    begun, steps, losses = time.process_time(), 0, [0.0]

    def vectors(texts: Sequence[str]) -> torch.Tensor:
        given = tokenizer(
            list(texts), padding=True, truncation=True, max_length=LONGEST, return_tensors="pt"
        )
        mask = given["attention_mask"].unsqueeze(2)  # (batch, tokens, 1)
        states = model(given["input_ids"], given["attention_mask"]).last_hidden_state
        return (states * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)

    for batch in _batches(pairs):
        done = (time.process_time() - begun) / (60 * minutes)
        if done >= 1:
            break
        for group in optimiser.param_groups:
            group["lr"] = RATE * min(1.0, (done + 1e-3) / WARM_UP) * (1 - done)
        source, target = zip(*batch, strict=True)
        loss = softmax_loss(vectors(source), vectors(target), None, SCALE, 0.0)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(free, 1.0)
        optimiser.step()
        steps += 1
        losses = [*losses[-99:], float(loss.detach())]
        if steps % 100 == 0:
            print(f"  step {steps}, {100 * done:.0f}%: loss {np.mean(losses):.3f}", flush=True)
    model.eval()
    return steps, float(np.mean(losses))


def _batches(pairs: Sequence[Pair]) -> Iterator[list[Pair]]:
    """Yield batches of pairs of like length, without end."""
    generator = np.random.default_rng(SEED)
    while True:
        order = generator.permutation(len(pairs))
        for start in range(0, len(order), SORTED * BATCH):
            rows = [pairs[row] for row in order[start : start + SORTED * BATCH].tolist()]
            rows.sort(key=lambda pair: len(pair[0]) + len(pair[1]))
            cuts = [rows[place : place + BATCH] for place in range(0, len(rows), BATCH)]
            whole = [cut for cut in cuts if len(cut) > 1]
            yield from (whole[place] for place in generator.permutation(len(whole)).tolist())
