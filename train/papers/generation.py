"""Settings of ``miner paraphrase generate``: decoding and ranking. Imports nothing heavy."""

from dataclasses import dataclass

from miner.config_fields import check, option


@dataclass(frozen=True)
class Decoding:
    """Decoding of a network's sentences: beam search, or sampling (``sample``)."""

    beam: int = option(8, "Hypotheses.", within="[1, 100]")
    sample: bool = option(False, "Sample candidates instead of searching with a beam.")
    temperature: float = option(
        1.0, "Temperature; below 1 likely pieces are drawn more often.", within="(0, inf)"
    )
    nucleus: float = option(
        0.95, "Sample from the likeliest pieces with this total probability.", within="(0, 1]"
    )
    seed: int = option(1, "Seed of the sampling.", within="[0, inf)")

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class RankWeights:
    """Weights of cosine, novelty (one minus the overlap) and fluency.

    Fluency is minus the logarithm of the perplexity by a trigram model; without a model, minus the
    cost.
    """

    cosine: float = option(1.0, "Weight of the cosine with the sentence.", kind="number")
    novelty: float = option(0.5, "Weight of one minus the n-gram overlap.", kind="number")
    fluency: float = option(
        0.05,
        "Weight of minus the logarithm of the perplexity, or of minus the cost.",
        kind="number",
    )
