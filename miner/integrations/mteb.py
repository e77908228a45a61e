"""Encoder for the tasks of mteb, such as BUCC.v2, Tatoeba, NTREX and Flores."""

from pathlib import Path
from typing import Any

import numpy as np
from mteb.models.abs_encoder import AbsEncoder
from mteb.models.model_meta import ModelMeta, ScoringFunction

from miner.encoder.open_encoder import open_encoder
from miner.errors import ArtifactError


class MinerEncoder(AbsEncoder):
    """Model directory, or another encoder that opens by name, evaluated by cosine.

    The revision of its results is the model's fingerprint. Raises ArtifactError for a model with
    separate vocabularies, because mteb does not tell the sides apart.
    """

    def __init__(self, model: str | Path = "default", revision: str | None = None, **_: Any):
        self.model = open_encoder(str(model), side="source")
        if self.model.on_side("target") is not self.model:
            raise ArtifactError(f"{model}: encodes each side by its own vocabulary; mteb has one")
        self.mteb_model_meta = ModelMeta.create_empty(
            {
                "name": f"bitext-miner/{Path(model).name}",
                "revision": revision or self.model.fingerprint,
                "embed_dim": self.model.dimension,
                "similarity_fn_name": ScoringFunction.COSINE,
                "framework": ["NumPy"],
            }
        )

    def encode(self, inputs: Any, **_: Any) -> np.ndarray:
        """Return unit rows ``(n, d) float32`` of the texts of batches."""
        return self.model.encode([text for batch in inputs for text in batch["text"]])
