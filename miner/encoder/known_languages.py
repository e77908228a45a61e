"""Facts about each language of a model: its training text, and its accuracy.

Training records the text; ``python -m benchmarks languages --record`` adds measurements.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from math import isfinite
from typing import Any

from miner.errors import ArtifactError
from miner.text.language_codes import FORMS, alike, primary

# Levels of a language, best first, with minimum accuracy and minimum number of training pairs.
# Pairs count only for languages without a measured accuracy.
LEVELS = (("good", 0.9, 100_000), ("fair", 0.75, 30_000), ("weak", 0.0, 0))


@dataclass(frozen=True)
class KnownLanguage:
    """Facts about one language of a model.

    ``pairs``: training pairs with the language on one side; ``text``: their number by text.
    ``accuracy`` in [0, 1], by test set: the share of sentences whose nearest neighbour by margin is
    their translation, mean of both directions; empty if nothing was measured. ``quality_map``:
    constant and slope that calibrate the log-odds of the quality in text with English.
    ``quality_bound``: quality that all but a few right pairs reach. Both are learned from text held
    out from the rest of the training, and are None without such text. ``right_dropped``: share of
    right pairs of other sources below the bound, ``wrong_kept``: share of shuffled pairs above it.
    """

    pairs: int
    text: Mapping[str, int] = field(default_factory=dict)
    accuracy: Mapping[str, float] = field(default_factory=dict)
    quality_bound: float | None = None
    wrong_kept: float | None = None
    right_dropped: float | None = None
    quality_map: tuple[float, float] | None = None

    @property
    def level(self) -> str:
        """Level ``good``, ``fair`` or ``weak``: by the worst accuracy, else by the amount of
        training text.
        """
        if self.accuracy:
            worst = min(self.accuracy.values())
            return next(name for name, least, _ in LEVELS if worst >= least)
        return next(name for name, _, least in LEVELS if self.pairs >= least)


def as_dict(languages: Mapping[str, KnownLanguage]) -> dict[str, dict[str, Any]]:
    """Convert facts to JSON values, with the level of each language for human readers."""
    return {
        code: {**asdict(facts), "level": facts.level} for code, facts in sorted(languages.items())
    }


def read(record: Any, name: str) -> dict[str, KnownLanguage]:
    """Read the output of :func:`as_dict`; empty for None. Raises ArtifactError, naming the file
    ``name``.
    """
    try:
        return {
            str(code): KnownLanguage(
                int(entry["pairs"]),
                {str(text): int(pairs) for text, pairs in entry["text"].items()},
                {str(test): float(value) for test, value in entry["accuracy"].items()},
                quality_map=_line(entry.get("quality_map")),
                **{
                    name: None if entry.get(name) is None else float(entry[name])
                    for name in ("quality_bound", "wrong_kept", "right_dropped")
                },
            )
            for code, entry in (record or {}).items()
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ArtifactError(
            f"{name}: its 'languages' cannot be read ({error!r}); copy the model again"
        ) from None


def _line(record: Any) -> tuple[float, float] | None:
    """Read a constant and a slope. Raises ValueError unless both are finite."""
    if record is None:
        return None
    constant, slope = map(float, record)
    if not (isfinite(constant) and isfinite(slope) and slope > 0):
        raise ValueError("a quality_map is no rising line")
    return constant, slope


def quality_map(
    languages: Mapping[str, KnownLanguage], codes: Iterable[str | None]
) -> tuple[float, float]:
    """Return constant and slope that calibrate the quality between some languages.

    Between two languages other than English the constants add up, because each contributes
    evidence. Slopes are averaged. (0, 1) without measurements.
    """
    facts = (find(languages, code) for code in codes if code)
    lines = [
        language.quality_map for language in facts if language and language.quality_map is not None
    ]
    if not lines:
        return 0.0, 1.0
    return sum(line[0] for line in lines), sum(line[1] for line in lines) / len(lines)


def quality_bound(
    languages: Mapping[str, KnownLanguage], codes: Iterable[str | None]
) -> float | None:
    """Return the minimum quality bound of some languages; None if none is known."""
    facts = (find(languages, code) for code in codes if code)
    bounds = [
        language.quality_bound
        for language in facts
        if language and language.quality_bound is not None
    ]
    return min(bounds, default=None)


def find(languages: Mapping[str, KnownLanguage], code: str) -> KnownLanguage | None:
    """Return the facts about a language by its code; None if the model was not trained on it."""
    if code in FORMS:
        return None
    codes = [primary(code), *sorted(alike(code))]
    return next((languages[other] for other in codes if other in languages), None)
