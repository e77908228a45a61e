"""Names of encoders of other libraries, and settings to load them.

Free of numpy and of every other library, so that help texts load fast.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from miner.config_fields import option

# Prefixes of --model: encoders that sentence-transformers or model2vec loads.
HF, MODEL2VEC = "hf", "model2vec"
KINDS = (HF, MODEL2VEC)
BACKENDS = ("torch", "onnx", "openvino")


@dataclass(frozen=True)
class Loading:
    """Settings of an encoder of another library.

    ``source_prompt`` and ``target_prompt`` are prefixes of each sentence of their side; None is the
    prompt in the model's configuration, if any. ``backend`` is one of :data:`BACKENDS`.
    """

    source_prompt: str | None = option(
        None,
        "Prefix of each source sentence, for a model of hf: [the model's own prompt].",
    )
    target_prompt: str | None = option(None, "Prefix of each target sentence.")
    backend: str = option(
        BACKENDS[0],
        "Library that runs a model of hf:.",
        option="--runtime",
        choices=BACKENDS,
    )

    def as_dict(self) -> dict[str, str]:
        """Return the settings that differ from the defaults, as JSON values."""
        usual = asdict(Loading())
        return {name: value for name, value in asdict(self).items() if value != usual[name]}


USUAL = Loading()


def split_name(name: object) -> tuple[str, str] | None:
    """Split ``hf:PLACE`` or ``model2vec:PLACE``; None for other names, which are models of ours."""
    kind, colon, place = str(name).partition(":")
    return (kind, place) if colon and kind in KINDS else None


@dataclass(frozen=True)
class ForeignVectors:
    """Reference to the encoder of another library whose pairs a model of this program verifies.

    ``address`` and ``loading`` open it; ``fingerprint`` is checked; ``prompts`` are for source and
    target.
    """

    address: str
    fingerprint: str
    dimension: int
    prompts: tuple[str, str] = ("", "")
    backend: str = BACKENDS[0]

    @property
    def loading(self) -> Loading:
        parts = split_name(self.address)
        loading = Loading(*self.prompts, self.backend)
        return loading if parts and parts[0] == HF else USUAL

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "ForeignVectors":
        """Read the output of ``dataclasses.asdict``. Raises KeyError, TypeError or ValueError."""
        source_prompt, target_prompt = values["prompts"]
        return cls(
            str(values["address"]),
            str(values["fingerprint"]),
            int(values["dimension"]),
            (str(source_prompt), str(target_prompt)),
            str(values["backend"]),
        )
