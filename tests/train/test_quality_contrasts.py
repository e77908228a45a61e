"""Contrast cases of the quality function, and the fit to them."""

import numpy as np

from miner_train.learn_quality import fit_contrasts
from miner_train.learn_verifier import fit
from miner_train.quality_contrasts import contrast_cases


def test_rules_are_for_english_alone() -> None:
    text = ["Er kam am 3. Mai nicht."], ["He did not come on 3 May."]
    changed = {pair[1] for _, pair in contrast_cases(text, ("de", "en"), 1)}
    assert any("3" not in new or "not" not in new for new in changed)
    spaceless = ["彼は来なかった。"]
    assert not [pair for _, pair in contrast_cases((spaceless, spaceless), ("ja", "zh"), 1)]


def test_words_are_dropped_from_either_side() -> None:
    line = "a b c d e f g"
    cases = contrast_cases(([line] * 50, [line] * 50), ("de", "fr"), 1)
    for side in range(2):
        dropped = {pair[side] for _, pair in cases} - {line}
        assert len(dropped) > 5
        assert all(set(new) < set(line) and len(new.split()) >= 2 for new in dropped)
    assert not contrast_cases((["a b c"], ["a b c"]), ("de", "fr"), 1)


def test_a_fit_to_contrasts_puts_them_right_and_stays_calibrated() -> None:
    """The second feature separates corruptions, the first one everything else."""
    generator = np.random.default_rng(1)
    true = generator.random(4000) < 0.5
    features = generator.normal(size=(4000, 3)).astype(np.float32)
    features[:, 0] += true
    contrasts = generator.normal(scale=[0.1, 0.1, 1], size=(500, 3)).astype(np.float32)
    contrasts[:, 1] += 0.05
    names = ("plain", "contrast", "noise")
    alone, learned = fit(features, true, names), fit_contrasts(features, true, contrasts, names)

    def right(function) -> float:  # type: ignore[no-untyped-def]
        return float((contrasts @ function.weight > 0).mean())

    assert right(learned) > right(alone) + 0.03
    shown = 1 / (1 + np.exp(-learned.logit(features)))
    assert abs(shown.mean() - true.mean()) < 0.01
    assert fit_contrasts(features, true, contrasts[:0], names).as_dict() == alone.as_dict()
