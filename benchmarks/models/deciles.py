"""Which tenth by score is the best to learn from (P18, section 3)?

A pool is ordered by a model's cosines, the paraphrase score, and cut into tenths; a model learns
from each. P18 takes the two best tenths.
"""

from collections.abc import Iterator

from benchmarks.models import choose, experiment_text
from benchmarks.models.encoder_text import draw
from benchmarks.models.experiment_metrics import Bench, Results

POOLS = ("half noisy", experiment_text.ENGLISH)


def measure(bench: Bench) -> Iterator[Results]:
    rows = []
    for name in POOLS:
        found = choose.pool(name, bench)
        for whose, model in (("pool's own", found.own(bench)), ("default", "default")):
            score = choose.scores("cosine", found.pairs, model=model)
            score_of = dict(zip(found.pairs, score.tolist(), strict=True))
            for number, part in enumerate(choose.parts(found.pairs, score), 1):
                bounds = [round(score_of[pair], 4) for pair in (part[0], part[-1])]
                # In an order that says nothing of the score.
                part = draw(part, len(part))
                rows.append(
                    bench.row(
                        f"{name}, by the {whose} model",
                        str(number),
                        part,
                        found.config,
                        found.languages,
                        cosines=bounds,
                    )
                )
                yield {"rows": rows}
