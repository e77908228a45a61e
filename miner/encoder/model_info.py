"""Facts about a model for people: encoder, size, training text, metrics, and its card."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from miner.encoder.model import Model, load
from miner.encoder.model_files import CONFIG, resolve
from miner.errors import ArtifactError
from miner.text.language_codes import describe
from miner.text_table import aligned

CARD = "README.md"
MEGABYTE = 1_000_000
# Maximum number of texts listed for a model, and for each language.
NAMED, LARGEST = 8, 3


def models_in(places: Iterable[str]) -> Iterator[str]:
    """Yield ``default`` and the model directories among ``places``, or directly below them."""
    yield "default"
    for name in places:
        directory = Path(name)
        if not directory.is_dir():
            raise ArtifactError(f"{name}: no such directory")
        if (directory / CONFIG).is_file():
            yield name
        else:
            yield from (str(path.parent) for path in sorted(directory.glob(f"*/{CONFIG}")))


def table(models: Iterable[str]) -> list[str]:
    """Return the lines of a table of models; an unreadable model shows its error."""
    rows, faults = [["model", "size", "fingerprint", "verifies", "encoder"]], []
    for name in models:
        try:
            model = load(name)
        except ArtifactError as error:
            faults.append(f"left out: {error}")
            continue
        verifies = "yes" if model.verifier is not None else "no"
        rows.append([name, _size(resolve(name)), model.fingerprint, verifies, model.describe()])
    return [*aligned(rows, left=len(rows[0])), *faults]


def facts(name: str) -> list[str]:
    """Return lines about a model, and its card if it has one. Raises ArtifactError."""
    model, directory = load(name), resolve(name)
    rows = [
        ["model", f"{name} ({directory})" if name != str(directory) else name],
        ["encoder", model.describe()],
        ["fingerprint", model.fingerprint],
        ["size", _size(directory)],
        ["files", ", ".join(sorted(path.name for path in directory.iterdir()))],
        ["verifies", "yes" if model.verifier is not None else "no"],
        *_training(model),
    ]
    lines = [*aligned(rows, left=2), *_languages(model)]
    card = directory / CARD
    if not card.is_file():
        return [*lines, "", f"no card ({CARD}) in {directory}"]
    return [*lines, "", *card.read_text(encoding="utf-8").splitlines()]


def _training(model: Model) -> Iterator[list[str]]:
    """Yield rows about the training text and the metrics recorded by the training."""
    training = model.training
    if "teacher" in training:
        count = sum(entry["sentences"] for entry in training.get("sentences", []))
        sentences = f", {count:,} sentences" if count else ""
        yield ["student of", f"{training['teacher']['name']}{sentences}"]
    if training.get("pairs"):
        text: Counter[str] = Counter()
        for entry in training.get("text", []):  # a text in many languages has one file for each
            text[entry["name"].split(".")[0]] += entry["pairs"]
        each = [f"{name} {pairs:,}" for name, pairs in text.most_common(NAMED)]
        each += [f"{len(text) - NAMED} more"] if len(text) > NAMED else []
        count = f"{training['pairs']:,} pairs"
        yield ["trained on", ": ".join([count, *(["; ".join(each)] if each else [])])]
    if training.get("held-out mining F1") is not None:
        yield ["held-out mining F1", f"{training['held-out mining F1']:.3f}"]
    if training.get("cosine with the teacher") is not None:
        yield ["cosine with the teacher", f"{training['cosine with the teacher']:.3f}"]
    if model.threshold is not None:
        yield ["margin threshold", f"{model.threshold:.2f}"]


def _languages(model: Model) -> list[str]:
    """Return the lines of a table of the model's languages; none if it records none."""
    if not model.languages:
        return []
    tests = sorted({test for facts in model.languages.values() for test in facts.accuracy})
    rows = [["language", "level", "training pairs", *tests, "largest texts"]]
    for code, facts in sorted(model.languages.items(), key=lambda item: (-item[1].pairs, item[0])):
        figures = [
            f"{facts.accuracy[test]:.3f}" if test in facts.accuracy else "-" for test in tests
        ]
        total = max(sum(facts.text.values()), 1)
        largest = Counter(facts.text).most_common(LARGEST)
        text = ", ".join(f"{name} {pairs / total:.0%}" for name, pairs in largest)
        rows.append([describe(code), facts.level, f"{facts.pairs:,}", *figures, text or "-"])
    return ["", *aligned(rows, left=2)]


def _size(directory: Path) -> str:
    size = sum(path.stat().st_size for path in directory.iterdir() if path.is_file())
    return f"{size / MEGABYTE:.1f} MB"
