"""Compare bitext with its back-translation at equal pairs (P19, table 1), and bounds on it (P17).

The built-in translator learns from some pairs of Tatoeba and translates the foreign side of others.
The bitext is these others as they are; the back-translation has their translations in place of the
foreign sentences. Twice the bitext has as much English text as the back-translation, as the last
column of P19's table.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.models import training_text
from benchmarks.models.bench import Results, Row
from benchmarks.models.experiment_metrics import EPOCHS, ExperimentBench
from benchmarks.models.trained_models import counted, noted
from benchmarks.models.training_text import ENGLISH, Pair, draw
from miner.text.words import plain_form, tokens
from miner_train.papers.build import translate_all, whole
from miner_train.papers.phrase_decoder import BeamLimits, PhraseTranslator
from miner_train.papers.translators import Translation, Translator
from miner_train.recipes import recipe

LANGUAGES = "de-en"
SOURCE = "tatoeba"
SEEDS = (1, 2, 3)
ENCODERS = ("sp", "word", "trigram", "blstm-sp")
# Pairs that the translator learns from; its beam, small to save time; pieces of a vocabulary.
TAUGHT = 20_000
LIMITS = BeamLimits(beam=10, jump=3)
PIECES = 8000


def measure(bench: ExperimentBench) -> Iterator[Results]:
    """Train on the bitext and on its back-translation, averages from several seeds."""
    rows: list[Row] = []
    bitext, translations, further = translated(bench, LANGUAGES)
    results = {
        "translator CPU seconds": {LANGUAGES: noted(seconds(bench, LANGUAGES)).cpu},
        "translator BLEU": {LANGUAGES: bleu(bitext, translations)},
        "rows": rows,
    }
    pairs, paraphrases = differing(bitext, translations)
    for encoder in ENCODERS:
        own = replace(recipe("p19-tuned", encoder), epochs=EPOCHS, pieces=PIECES)
        group = LANGUAGES if encoder == ENCODERS[0] else f"{LANGUAGES}, {encoder}"
        # Recurrent networks take minutes.
        for seed in SEEDS[:1] if any(kind.network for kind in own.kinds) else SEEDS:
            for name, text, negatives in (
                ("bitext", pairs, "opposite"),
                ("its back-translation", paraphrases, "either"),
                ("twice the bitext", [*pairs, *further[: len(pairs)]], "opposite"),
            ):
                config = replace(own, negatives_from=negatives, seed=seed)
                row = bench.row(group, name, text, config, ENGLISH, mine=False, seed=seed)
                rows.append(row)
                yield results


def bleu(bitext: list[Pair], translations: list[list[Translation]]) -> dict[str, Any]:
    """Return BLEU and chrF of all first translations against the references, by sacreBLEU."""
    from sacrebleu.metrics import BLEU, CHRF

    found = [one[0].text if one else "" for one in translations]
    # As the translator writes: lower-case words, blanks between them.
    references = [[" ".join(tokens(target)) for _, target in bitext]]
    metrics = BLEU(tokenize="none", lowercase=True), CHRF(lowercase=True)
    return {
        "sentences": len(bitext),
        **{
            name: round(float(metric.corpus_score(found, references).score), 2)
            for name, metric in zip(("BLEU", "chrF"), metrics, strict=True)
        },
    }


def seconds(bench: ExperimentBench, languages: str) -> Path:
    """Return the note of the time that the translator took to learn and to translate."""
    return bench.work / f"{languages}.translations.seconds"


def translated(
    bench: ExperimentBench, languages: str, best: int = 1
) -> tuple[list[Pair], list[list[Translation]], list[Pair]]:
    """Return a bitext, the ``best`` translations of each foreign sentence, and further bitext.

    Sentences that the translator learned from are left out.
    """
    every = training_text.sources(bench.data, languages)[SOURCE]
    every = draw(every, len(every))
    # A test on little text keeps half of it to teach.
    taught = every[: min(TAUGHT, len(every) // 2)]
    known = {text for pair in taught for text in pair}
    new = [pair for pair in every[len(taught) :] if not known & set(pair)]
    own = new[: bench.pairs]

    def learned() -> Translator:
        source, target = ([pair[side] for pair in taught] for side in (0, 1))
        return PhraseTranslator.learn(source, target, LIMITS)

    bench.work.mkdir(parents=True, exist_ok=True)
    name = f"{languages}.translations" if best == 1 else f"{languages}.{best}-translations"
    with counted(bench.work / f"{name}.seconds"):
        translations = translate_all(
            [source for source, _ in own],
            whole(len(own), learned),
            best,
            bench.work / name,
            {"taught": len(taught), "beam": LIMITS.beam},
        )
    return own, translations, new[len(own) :]


def differing(
    bitext: list[Pair], translations: list[list[Translation]]
) -> tuple[list[Pair], list[Pair]]:
    """Return a bitext, and its translations with the references, row by row.

    Translations that copy their reference are left out of both.
    """
    kept = [
        (pair, (found[0].text, pair[1]))
        for pair, found in zip(bitext, translations, strict=True)
        if found and not copies(pair[1], found[0])
    ]
    return [pair for pair, _ in kept], [pair for _, pair in kept]


def copies(reference: str, translation: Translation) -> bool:
    """Return True if a translation equals its reference up to case and final punctuation."""
    return plain_form(translation.text) == plain_form(" ".join(tokens(reference)))
