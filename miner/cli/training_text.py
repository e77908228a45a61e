"""Options of parallel text for training, which commands receive as one ``ParallelText``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from miner.cli import options
from miner.cli.settings_options import Decorator, Settings
from miner.cli.sharding import expanded
from miner.config_fields import option
from miner.text.formats import BitextFormat

if TYPE_CHECKING:
    from miner_train.read import TextPair

_files = partial(option, (), multiple=True, metavar="FILE", kind="text")


@dataclass(frozen=True)
class ParallelText:
    """Files of parallel text: source files with target files, and files with both sides."""

    sources: tuple[str, ...] = _files("Source; repeatable.", option="--source")
    targets: tuple[str, ...] = _files("Its target, line by line.", option="--target")
    bitexts: tuple[str, ...] = _files(
        "Both sides in one TSV, JSONL or Parquet file, or a pattern in quotes; repeatable, of any "
        "language pairs, which names of folders or files tell ('de-en/*.tsv.xz').",
        option="--bitext",
    )
    held_out: tuple[str, ...] = _files(
        "Bitext of a source of its own, held out as a whole: it gives words to the vocabulary, and "
        "what is learned on held-out pairs (verifier, quality, its bounds) holds for text of other "
        "sources; repeatable.",
        option="--heldout-bitext",
    )

    @property
    def files(self) -> list[str]:
        """Files that are read."""
        return [*self.sources, *self.targets, *self.bitexts, *self.held_out]

    @property
    def empty(self) -> bool:
        return not self.sources and not self.bitexts

    def pairs(self, layout: BitextFormat, **of_bitext: Any) -> list[TextPair]:
        """Return the texts to read; ``of_bitext``: further fields of ``TextPair`` for bitexts."""
        from miner_train.read import TextPair

        sides = zip(self.sources, self.targets, strict=True)
        return [
            *(TextPair(source, target, layout) for source, target in sides),
            *(TextPair(bitext, None, layout, **of_bitext) for bitext in self.bitexts),
            *(
                TextPair(bitext, None, layout, **of_bitext, held_out=True)
                for bitext in self.held_out
            ),
        ]


def _text(values: dict[str, Any]) -> ParallelText:
    """Return the text from the options, with patterns expanded to files."""
    sources, targets = values.get("sources", ()), values.get("targets", ())
    if len(sources) != len(targets):
        raise click.UsageError(f"{len(sources)} --source but {len(targets)} --target")
    bitexts, held_out = (
        tuple(file for pattern in values.get(name, ()) for file in expanded(pattern))
        for name in ("bitexts", "held_out")
    )
    return ParallelText(sources, targets, bitexts, held_out)


_settings = Settings(ParallelText, "text", _text)


def parallel_text(sides: bool = True) -> Decorator:
    """Add the options; the command receives ``text``, ``layout`` and ``without``.

    ``sides``: also --source and --target.
    """
    return options.several(
        _settings(*(("sources", "targets") if sides else ()), "bitexts", "held_out"),
        options.bitext_format(),
        options.without(),
    )
