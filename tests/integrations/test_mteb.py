"""mteb evaluates our encoder on a task of local files, with the scores of our evaluation."""

import pytest
from support.files import write
from support.peers import DATA, DEMO

from miner.errors import ArtifactError
from miner.evaluation import tatoeba
from miner.evaluation.evaluated_model import MinerModel
from miner.text.bitext import read_bitext

mteb = pytest.importorskip("mteb", reason="needs the extra integrations")
SETS = {"de-en": "deu-Latn", "fr-en": "fra-Latn", "ja-en": "jpn-Jpan", "sw-en": "swh-Latn"}


def task_over(paths):
    """A task of mteb whose subsets are local files of pairs."""
    from datasets import Dataset, DatasetDict
    from mteb.abstasks.task_metadata import TaskMetadata
    from mteb.abstasks.text.bitext_mining import AbsTaskBitextMining

    class LocalBitextMining(AbsTaskBitextMining):
        metadata = TaskMetadata(
            name="LocalBitextMining",
            dataset={"path": "local/files", "revision": "1"},
            description="Pairs of local files.",
            type="BitextMining",
            category="t2t",
            modalities=["text"],
            eval_splits=["test"],
            eval_langs={name: [SETS[name], "eng-Latn"] for name in paths},
            main_score="f1",
        )

        def load_data(self, num_proc=None, **kwargs):
            self.dataset = {}
            for name, path in paths.items():
                bitext = read_bitext(path)
                columns = {"sentence1": bitext.source, "sentence2": bitext.target}
                self.dataset[name] = DatasetDict(test=Dataset.from_dict(columns))
            self.data_loaded = True

    return LocalBitextMining()


@pytest.mark.slow
def test_scores_are_those_of_our_evaluation(tmp_path):
    from miner.integrations.mteb import MinerEncoder

    paths = {name: DATA / "tatoeba" / f"{name}.tsv.xz" for name in SETS}
    if not all(path.is_file() for path in paths.values()):
        german, english = (DEMO / f"demo.{name}" for name in ("de", "en"))
        sides = (one.read_text(encoding="utf-8").split("\n")[:300] for one in (german, english))
        paths = {"de-en": write(tmp_path / "de-en.tsv", list(zip(*sides, strict=True)))}
    encoder = MinerEncoder("default")
    result = mteb.evaluate(encoder, task_over(paths), cache=None)
    scores = {one["hf_subset"]: one["accuracy"] for one in result.task_results[0].scores["test"]}
    model = MinerModel("default")
    for name, path in paths.items():
        found, _ = tatoeba.accuracies(model, name, path)
        ours = {one.name: one.value for one in found}["there by cosine"]
        assert scores[name] == pytest.approx(ours, abs=1e-9)
    assert encoder.mteb_model_meta.revision == model.fingerprint


def test_a_vocabulary_for_each_side_is_refused(separate_model):
    from miner.integrations.mteb import MinerEncoder

    with pytest.raises(ArtifactError, match="its own vocabulary"):
        MinerEncoder(separate_model)
