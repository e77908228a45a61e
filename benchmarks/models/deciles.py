"""Compare the tenths of a pool by score as training text (P18, section 3).

A pool is sorted by the cosine of a model, which is the paraphrase score of P18, and cut into
tenths. One model is trained on each. P18 keeps the two best tenths.
"""

from collections.abc import Iterator

from benchmarks.models import choose, training_text
from benchmarks.models.bench import Results
from benchmarks.models.experiment_metrics import ExperimentBench
from benchmarks.models.training_text import draw

POOLS = ("half noisy", training_text.ENGLISH)


def measure(bench: ExperimentBench) -> Iterator[Results]:
    rows = []
    for name in POOLS:
        found = choose.pool(name, bench)
        for whose, model in (("pool's own", found.own(bench)), ("default", "default")):
            score = choose.scores("cosine", found.pairs, model=model)
            score_of = dict(zip(found.pairs, score.tolist(), strict=True))
            for number, part in enumerate(choose.parts(found.pairs, score), 1):
                bounds = [round(score_of[pair], 4) for pair in (part[0], part[-1])]
                rows.append(
                    bench.row(
                        f"{name}, by the {whose} model",
                        str(number),
                        draw(part, len(part)),  # shuffled: the order must not depend on the score
                        found.config,
                        found.languages,
                        cosines=bounds,
                    )
                )
                yield {"default": bench.default, "rows": rows}
