"""Neural translators by adapter: directories of CTranslate2 and of Hugging Face transformers.

The libraries are imported when a translator is opened. A directory is never looked up on a hub.
``languages`` are codes as in :func:`language_tokens`, or None. The cost of a translation is the
negative log-likelihood per piece.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from miner.device import resolve_device
from miner.encoder.pretrained import loads, torch_threads
from miner.errors import ArtifactError
from miner.libraries import library
from miner.machine import thread_count
from miner.names import Languages
from miner.papers.translators import Translation, by_length, distinct

# Hypotheses of the beam, if no more translations are asked for; sentences of a batch.
BEAM, ROWS = 4, 16
# A translation has at most this many pieces, and two for each piece of the sentence and some more:
# a system that repeats itself would go on.
LONGEST, FEWEST = 256, 10
# Files of SentencePiece by the names that conversions give them: of source and target, or of both.
SIDES = ("source.spm", "target.spm")
# Codes of source and target.


class CTranslate2Translator:
    """Model directory of CTranslate2 with its SentencePiece files, such as OPUS-MT and NLLB."""

    def __init__(
        self,
        place: str,
        languages: Languages = (None, None),
        device: str = "cpu",
        threads: int | None = None,
    ):
        from sentencepiece import SentencePieceProcessor

        name, directory = f"ctranslate2:{place}", Path(place).expanduser()
        if not (directory / "model.bin").is_file():
            raise ArtifactError(
                f"{name}: no model of CTranslate2 in this directory (no model.bin); convert one "
                "with ct2-transformers-converter"
            )
        ctranslate2 = library("ctranslate2", name, "ctranslate2")
        files = sentencepiece_files(directory)
        with loads(name, "name another model"):
            self.before, self.after = (
                SentencePieceProcessor(model_file=str(path)) for path in files
            )
            settings = json.loads((directory / "config.json").read_text(encoding="utf-8"))
            self.model = ctranslate2.Translator(
                str(directory),
                device=resolve_device(device, ctranslate2.get_cuda_device_count, "ctranslate2"),
                inter_threads=1,
                intra_threads=thread_count(threads),
            )
            known = _vocabulary(directory)
        self.prefix, self.forced = language_tokens(name, languages, known.__contains__)
        self.end = [] if settings.get("add_source_eos") else [settings.get("eos_token", "</s>")]

    def translate(self, sentences: Sequence[str], k: int) -> list[list[Translation]]:
        prefix = [self.prefix] if self.prefix else []
        plain = self.before.encode(list(sentences), out_type=str)
        pieces = [[*prefix, *own, *self.end] for own in plain]
        found = self.model.translate_batch(
            pieces,
            target_prefix=[[self.forced]] * len(pieces) if self.forced else None,
            beam_size=max(BEAM, k),
            num_hypotheses=k,
            return_scores=True,
            max_batch_size=ROWS,
            max_decoding_length=_limit(pieces),
        )
        return [
            distinct(
                (self.after.decode([one for one in own if one != self.forced]), -score)
                for own, score in zip(answer.hypotheses, answer.scores, strict=True)
            )
            for answer in found
        ]


class TransformersTranslator:
    """Encoder and decoder of Hugging Face transformers, such as Marian, NLLB, M2M100 and T5.

    The place is a directory, or a name of the hub.
    """

    def __init__(
        self,
        place: str,
        languages: Languages = (None, None),
        device: str = "cpu",
        threads: int | None = None,
    ):
        self.threads = thread_count(threads)
        name, directory = f"hf:{place}", Path(place).expanduser()
        local = directory.is_dir()
        if not local and (directory.is_absolute() or place.startswith(".") or "//" in place):
            raise ArtifactError(f"{name}: no such directory")
        transformers = library("transformers", name, "hf")
        transformers.utils.logging.set_verbosity_error()
        transformers.utils.logging.disable_progress_bar()
        self.device = resolve_device(device)
        opened = str(directory.resolve()) if local else place
        with loads(name, "name another model"), torch_threads(self.threads):
            self.tokenizer = transformers.AutoTokenizer.from_pretrained(
                opened, local_files_only=local
            )
            auto = transformers.AutoModelForSeq2SeqLM
            model = auto.from_pretrained(opened, local_files_only=local)
            # Half precision is slow on a CPU.
            model = model.float() if self.device == "cpu" else model
            self.model = model.to(self.device).eval()
        known = self.tokenizer.get_vocab()
        prefix, forced = language_tokens(name, languages, known.__contains__)
        self.prefix = None if prefix is None else known[prefix]
        self.forced = None if forced is None else known[forced]

    def translate(self, sentences: Sequence[str], k: int) -> list[list[Translation]]:
        found: list[list[Translation]] = [[] for _ in sentences]
        with torch_threads(self.threads):
            for rows in by_length(range(len(sentences)), sentences, ROWS):
                own = self._translate([sentences[row] for row in rows], k)
                for row, translations in zip(rows, own, strict=True):
                    found[row] = translations
        return found

    def _translate(self, sentences: list[str], k: int) -> list[list[Translation]]:
        ids = self._ids(sentences)
        batch = self.tokenizer.pad({"input_ids": ids}, return_tensors="pt").to(self.device)
        more = {} if self.forced is None else {"forced_bos_token_id": self.forced}
        made = self.model.generate(
            input_ids=batch["input_ids"],
            attention_mask=batch["attention_mask"],
            num_beams=max(BEAM, k),
            num_return_sequences=k,
            do_sample=False,
            length_penalty=1.0,  # scores are means over pieces
            max_new_tokens=_limit(ids),
            return_dict_in_generate=True,
            output_scores=True,
            **more,
        )
        texts = self.tokenizer.batch_decode(made.sequences, skip_special_tokens=True)
        costs = (-made.sequences_scores).tolist()
        every = list(zip(texts, costs, strict=True))
        return [distinct(every[row * k : (row + 1) * k]) for row in range(len(sentences))]

    def _ids(self, sentences: list[str]) -> list[list[int]]:
        """Token ids with the marks that the model expects, cut at its length."""
        if self.prefix is None:
            return self.tokenizer(sentences, truncation=True)["input_ids"]
        # A tokenizer's own mark names the language it was saved with.
        plain = self.tokenizer(sentences, add_special_tokens=False)["input_ids"]
        longest = max(1, min(int(self.tokenizer.model_max_length), 1 << 20) - 2)
        return [[self.prefix, *own[:longest], self.tokenizer.eos_token_id] for own in plain]


def language_tokens(
    name: str, languages: Languages, known: Callable[[str], bool]
) -> tuple[str | None, str | None]:
    """Find the tokens that tell a multilingual model its languages: of the input, of the output.

    ``languages`` are source and target as the model writes them: ``deu_Latn`` and ``eng_Latn``
    (NLLB), ``de_DE`` (mBART), ``de`` for ``__de__`` (M2M100). Where one token before the sentence
    names the target, ``eng`` for ``>>eng<<`` (OPUS-MT) or ``en`` for ``<2en>`` (MADLAD), the source
    needs none. ``known`` tells whether the vocabulary has a token. Raises ArtifactError for a
    language without a token, and for a source without a target.
    """
    source, target = languages
    if target is None:
        if source is not None:
            raise ArtifactError(f"{name}: --source-lang needs --target-lang")
        return None, None
    for token in (f">>{target}<<", f"<2{target}>"):
        if known(token):
            return token, None

    def token_of(language: str) -> str:
        # A plain "de" would be a piece of a word.
        for token in (f"__{language}__", *([language] if "_" in language else [])):
            if known(token):
                return token
        raise ArtifactError(
            f"{name}: no token for the language {language}; give the code as the model has it "
            "(deu_Latn for NLLB), or leave out --source-lang and --target-lang for a model of one "
            "direction"
        )

    forced = token_of(target)
    if source is None:
        raise ArtifactError(f"{name}: needs --source-lang, too")
    return token_of(source), forced


def sentencepiece_files(directory: Path) -> tuple[Path, Path]:
    """Find the SentencePiece models of source and target, in a directory or the one above it.

    They are ``source.spm`` and ``target.spm`` or one file ``*.model`` or ``*.spm`` for both.
    Raises ArtifactError for none, or more than one.
    """
    for place in (directory, directory.resolve().parent):
        both = [place / name for name in SIDES]
        if all(path.is_file() for path in both):
            return both[0], both[1]
        one = sorted(path for suffix in ("*.model", "*.spm") for path in place.glob(suffix))
        if len(one) == 1:
            return one[0], one[0]
        if len(one) > 1:
            raise ArtifactError(
                f"{place}: several SentencePiece models ({', '.join(path.name for path in one)}); "
                f"name two of them {' and '.join(SIDES)}"
            )
    raise ArtifactError(
        f"{directory}: no SentencePiece model; copy {' and '.join(SIDES)}, or the one file *.model "
        "of both, from the model that was converted"
    )


def _vocabulary(directory: Path) -> set[str]:
    """Tokens of both sides."""
    found: set[str] = set()
    for path in directory.glob("*_vocabulary.*"):
        text = path.read_text(encoding="utf-8")
        found.update(json.loads(text) if path.suffix == ".json" else text.split("\n"))
    return found


def _limit(sentences: Sequence[Sequence[object]]) -> int:
    return min(LONGEST, 2 * max(map(len, sentences), default=0) + FEWEST)
