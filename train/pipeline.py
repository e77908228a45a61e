"""A whole training: text in, model directory out."""

import hashlib
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from miner.device import resolve_device
from miner.encoder.architecture import ENCODERS, VOCABULARIES
from miner.encoder.encoder import Encoder
from miner.encoder.model import CONFIG, SEGMENTATION, Model, Part, quantise
from miner.encoder.normaliser import Normaliser
from miner.encoder.pieces import PieceTokenizer
from miner.encoder.tokenizer import MarkedTokenizer, Tokenizer, open_tokenizer
from miner.errors import CorpusError
from miner.names import SIDES
from miner.progress import Reporter, silent
from miner.scoring.quality import NAME
from miner.text.artifacts import replaceable
from train import data as pairs
from train import selection
from train.config import TrainConfig
from train.encoders import inside
from train.learn_lexicon import learn_lexicon
from train.learn_quality import learn_quality
from train.learn_verifier import ENOUGH, choose_decoys, enough, learn_verifier
from train.loop import EpochEnd, Progress, Trainer, memory_named
from train.read import Read, TextPair, read_texts
from train.training_checkpoint import Checkpoint
from train.vocabulary import train_trigrams, train_vocabulary, train_words
from train.word_vectors import read_embeddings

# Prints a line.
Report = Callable[[str], None]


def train_model(
    texts: Sequence[TextPair],
    config: TrainConfig,
    output: str | Path,
    *,
    exclude: Sequence[str] = (),
    embeddings: str | None = None,
    threshold: float | None = None,
    verifier: bool = True,
    restart: bool = False,
    device: str = "cpu",
    report: Report = lambda line: None,
    progress: Reporter = silent,
) -> Model:
    """Train on all ``texts`` together and save the model to ``output``.

    Goes on from the checkpoint of an interrupted run with the same configuration and text, unless
    ``restart``; the result is bit for bit that of an uninterrupted one on the same machine.
    ``exclude`` are files of sentences that are not learned from, such as test sets: pairs with one
    of them, in whatever case and punctuation, are left out.
    ``embeddings`` is a file of word vectors that words start from. ``threshold`` is what ``miner
    mine`` keeps by default: by default the best on the held-out task. Without ``verifier`` the
    model will not take a second look. ``device`` (auto, cpu or cuda) is for recurrent encoders.
    Raises CorpusError, ArtifactError and ResourceError.
    """
    replaceable(output, CONFIG)  # refused now rather than after hours of work
    device = resolve_device(device)
    architecture = config.architecture
    vectors = _read_embeddings(embeddings, config) if embeddings is not None else None
    excluded = [selection.read_excluded(path) for path in exclude]
    read = read_texts(texts, config, report, frozenset().union(*excluded))
    if exclude and not any("with excluded sentences" in text for text in read.counts):
        report(f"warning: no pair has a sentence of {', '.join(exclude)}")
    key = {
        "config": config.as_dict(),
        "text": pairs.fingerprint(read.source, read.target, None if read.same.all() else read.same),
        **({} if vectors is None else {"embeddings": _digest(*vectors)}),
    }
    checkpoint = Checkpoint(output, key)
    if restart:
        checkpoint.remove()
    files = checkpoint.load_vocabulary()
    if files is None:
        files = _learn_vocabularies(read, config, vectors[0] if vectors else (), report)
        checkpoint.save_vocabulary(files)
    else:
        report(f"going on from {checkpoint.directory}")

    vocabularies = {units: files[VOCABULARIES[units]] for units in architecture.units}
    segmentation = files.get(SEGMENTATION)
    tokenizers = [
        {
            units: open_tokenizer(units, vocabulary, architecture, segmentation, side=side)
            for units, vocabulary in vocabularies.items()
        }
        for side in SIDES
    ]
    sizes = {units: tokenizer.size for units, tokenizer in tokenizers[0].items()}
    cutters = list(tokenizers[0].values()), list(tokenizers[1].values())
    everything = checkpoint.load_pairs()
    if everything is None:
        report(f"cutting {len(read.source)} pairs into {' and '.join(f'{u}s' for u in sizes)}")
        everything = pairs.prepare(cutters, read.source, read.target, read.same)
        checkpoint.save_pairs(everything)
    training, held = pairs.split(everything, config.heldout, config.seed)
    unknown = len(read.source) - len(everything)
    shared = len(everything) - len(training) - len(held)
    report(
        f"{len(training)} pairs to train on, {len(held)} held out; left out: {unknown} without a "
        f"known {' or '.join(sizes)}, {shared} that share a sentence with a held-out pair"
    )
    if len(training) < 2:
        checkpoint.remove()  # nothing to go on from: more text must not meet a stale checkpoint
        raise CorpusError(f"only {len(training)} usable pairs: too few to train on")
    taught = everything.take(training)
    if not taught.same.any():
        checkpoint.remove()
        raise CorpusError("every pair is labelled 0: there is no translation to learn from")
    # The distinct sentences by their numbers, which count them in this order.
    sentences = list(dict.fromkeys(chain(read.source, read.target)))
    cut = None
    if config.sampling:
        cut = partial(_sampled, taught, sentences, tokenizers, config)
    start = None
    if vectors is not None:
        seen = [
            side.views[list(sizes).index("word")].ids for side in (taught.source, taught.target)
        ]
        start, notes = _start(vectors, files, config, np.unique(np.concatenate(seen)))
        report(f"{embeddings}: {notes}")
    trainer = Trainer(config, sizes, taught, everything.take(held), device, start, cut)
    del vectors, start
    if config.batch >= len(training) and config.epochs:
        report(
            f"warning: a batch holds all {len(training)} pairs, so that an epoch is one step; give "
            f"a smaller --batch (now {config.batch})"
        )
    if trainer.held is None:
        report(f"warning: {len(held)} held-out pairs are too few to mine; keeping the last epoch")

    def listen(event: Progress | EpochEnd) -> None:
        if isinstance(event, Progress):
            progress("training", event.done, event.total)
            return
        mined = "" if event.f1 is None else f", held-out mining F1 {event.f1:.4f}"
        kept = " (best so far)" if event.best and event.f1 is not None else ""
        report(f"epoch {event.epoch} of {config.epochs}: loss {event.loss:.4f}{mined}{kept}")

    with memory_named(f"{config.batch} pairs"):
        state = trainer.run(checkpoint, listen)
    if not config.epochs and state.best_f1 >= 0:
        report(f"not trained: held-out mining F1 {state.best_f1:.4f}")
    if threshold is None and not np.isnan(state.threshold):
        threshold = state.threshold
    if architecture.separate:
        _forget_unseen(state.best, taught, config)
    parts = [_part(inside(name, state.best), config.dtype) for name in config.encoders]
    dimensions = [part.size for part in trainer.encoders.parts.values()]
    model = Model(
        tuple(parts),
        vocabularies,
        dimensions[0] if config.combine == "add" else sum(dimensions),
        architecture,
        segmentation,
        threshold=threshold,
        training={
            "config": config.as_dict(),
            "text": read.counts,
            "text fingerprint": key["text"],
            **({} if embeddings is None else {"embeddings": Path(embeddings).name}),
            **({"excluded": _counted(exclude, excluded)} if exclude else {}),
            "labels": any(text.label_col for text in texts),
            "scores": any(text.score_col for text in texts),
            "pairs": len(training),
            "held-out pairs": len(held),
            "held-out mining F1": None if state.best_f1 < 0 else state.best_f1,
        },
    )
    if not verifier or not config.epochs:
        pass  # a random baseline must not know translations
    elif model.verifying is None:
        report("no second look: it compares pieces or words that both columns share")
    elif enough(len(held)):
        # A held-out pair is labelled as the same; of the others, only such are translations.
        kept = training[everything.same[training]]
        model = _with_verifier(model, everything, kept, held, sentences, config.seed, report)
    else:
        report(
            f"warning: {len(held)} held-out pairs are too few to learn to verify candidates "
            f"({ENOUGH} are needed; at most a tenth of all pairs is held out)"
        )
    model = model.save(output)
    checkpoint.remove()
    return model


def _learn_vocabularies(
    read: Read, config: TrainConfig, more: Sequence[str], report: Report
) -> dict[str, bytes]:
    """The vocabularies by their files' names; ``more`` are words beyond those of the text."""
    sides = (read.source, read.target)
    files = {}
    for units in config.architecture.units:
        name = VOCABULARIES[units]
        if units == "piece":
            report(f"learning a vocabulary of {config.pieces} pieces")
            files[name] = train_vocabulary(sides, config)
        elif units == "word":
            report("counting words" if config.segmentation == "none" else "learning morphs")
            files[name], segmentation = train_words(sides, config, more)
            if segmentation is not None:
                files[SEGMENTATION] = segmentation
        else:
            report("counting trigrams")
            files[name] = train_trigrams(sides, config)
    return files


def _sampled(
    data: pairs.PairData,
    sentences: Sequence[str],
    tokenizers: Sequence[Mapping[str, Tokenizer]],
    config: TrainConfig,
    epoch: int,
) -> pairs.PairData:
    """The pairs with their pieces cut anew, at random (Kudo 2018); other units as they are."""

    def anew(column: int, side: pairs.Sentences, text: np.ndarray) -> pairs.Sentences:
        tokenizer = tokenizers[column]["piece"]
        assert isinstance(tokenizer, PieceTokenizer | MarkedTokenizer)
        seed = int(np.random.default_rng([config.seed, 8, epoch, column]).integers(1 << 31))

        def cut(chunk: Sequence[str], first: int) -> tuple[np.ndarray, np.ndarray]:
            return tokenizer.sample(chunk, config.sampling, seed, first)

        sampled = pairs.tokenize_parts(cut, [sentences[i] for i in text.tolist()])
        return replace(sampled, also=side.also)

    source = anew(0, data.source, data.source_text)
    return replace(data, source=source, target=anew(1, data.target, data.target_text))


def _forget_unseen(
    learned: Mapping[str, np.ndarray], taught: pairs.PairData, config: TrainConfig
) -> None:
    """Make zero what neither column taught: each has a vocabulary of its own, and no more."""
    for name in config.encoders:
        view = config.architecture.units.index(ENCODERS[name].units)
        weights = learned[f"{name}/weights"]
        ids = np.concatenate([side.views[view].ids for side in (taught.source, taught.target)])
        weights[np.bincount(ids, minlength=len(weights)) == 0] = 0


def _counted(paths: Sequence[str], excluded: Sequence[Set[str]]) -> list[dict[str, Any]]:
    """What a model says of the sentences that it was kept from."""
    return [
        {"name": Path(path).name, "sentences": len(lot)}
        for path, lot in zip(paths, excluded, strict=True)
    ]


def _digest(words: Sequence[str], vectors: np.ndarray) -> str:
    digest = hashlib.sha256(np.ascontiguousarray(vectors).view(np.uint8).data)
    digest.update("\n".join(words).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:16]


def _part(learned: Mapping[str, np.ndarray], dtype: str) -> Part:
    """One encoder as it is stored."""
    network = inside("network", learned)
    if dtype == "int8":
        return Part(*quantise(learned["weights"]), network)
    return Part(learned["weights"].astype(np.float16), None, network)


def _read_embeddings(path: str, config: TrainConfig) -> tuple[list[str], np.ndarray]:
    """Words and their vectors, to start from; refused where they do not fit the configuration."""
    if "word" not in config.architecture.units:
        raise CorpusError(f"{path}: word vectors are for encoders of words, not {config.encoder}")
    words, vectors = read_embeddings(path)
    if vectors.shape[1] != config.dimension:
        raise CorpusError(
            f"{path}: has vectors of {vectors.shape[1]} numbers; "
            f"give --dimension {vectors.shape[1]} (now {config.dimension})"
        )
    return words, vectors


def _start(
    vectors: tuple[list[str], np.ndarray],
    files: Mapping[str, bytes],
    config: TrainConfig,
    seen: np.ndarray,
) -> tuple[dict[str, np.ndarray], str]:
    """What each word starts from, ``(V, d) float32``, NaN for those without; how many have one.

    ``seen`` are the numbers of the words that the text has. Raises CorpusError where none has one.
    """
    rows: dict[str, int] = {}
    for row, word in enumerate(Normaliser.by_rule(config.fold_case)(vectors[0])):
        rows.setdefault(word, row)
    types = files[VOCABULARIES["word"]].decode("utf-8").splitlines()
    found = np.array([rows.get(word, -1) for word in types])
    start = np.where(found[:, None] >= 0, vectors[1][found], np.float32(np.nan))
    if config.architecture.separate:
        start = np.concatenate([start, start])
    known = np.isfinite(start[:, 0])
    count = int(known[seen].sum())
    if not count:
        raise CorpusError(
            f"none of the text's {len(seen)} words has a vector; is the file of its languages, "
            "and separated by spaces?"
        )
    more = int(known.sum()) - count
    return {"word": start}, f"vectors for {count} of the text's {len(seen)} words, {more} more"


def _with_verifier(
    model: Model,
    everything: pairs.PairData,
    training: np.ndarray,
    held: np.ndarray,
    sentences: list[str],
    seed: int,
    report: Report,
) -> Model:
    """The model with all that a second look needs."""
    report("learning translation probabilities")
    assert model.verifying is not None
    lexicon = learn_lexicon(everything.take(training), len(model.verifying.weights))
    model = replace(model, lexicon=lexicon)

    def text(rows: np.ndarray) -> tuple[list[str], list[str]]:
        source, target = everything.source_text[rows], everything.target_text[rows]
        return [sentences[i] for i in source], [sentences[i] for i in target]

    report("learning to verify candidates")
    verifier = learn_verifier(Encoder(model), text(held), text(training), seed)
    if verifier is None:
        report("warning: held-out pairs are not found again; the model cannot verify candidates")
        return replace(model, lexicon=None)
    model = replace(model, verifier=verifier)
    report("learning to tell good pairs from spoilt ones")
    verifier[NAME] = learn_quality(Encoder(model), text(held), seed)
    return replace(model, decoys=choose_decoys(text(training), seed))
