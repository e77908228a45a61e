"""Options of parallel text to learn from, which commands receive as one ``ParallelText``."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from miner.cli import options
from miner.cli.settings_options import Decorator
from miner.cli.sharding import expanded
from miner.text.formats import BitextFormat

if TYPE_CHECKING:
    from miner_train.read import TextPair

_SIDES = options.several(
    click.option("--source", "sources", multiple=True, metavar="FILE", help="Source; repeatable."),
    click.option(
        "--target", "targets", multiple=True, metavar="FILE", help="Its target, line by line."
    ),
)
_BITEXT = options.several(
    click.option(
        "--bitext",
        "bitexts",
        multiple=True,
        metavar="FILE",
        help="Both sides in one TSV, JSONL or Parquet file, or a pattern in quotes; repeatable, of "
        "any language pairs, which names of folders or files tell ('de-en/*.tsv.xz').",
    ),
    options.bitext_format(),
    click.option(
        "--exclude",
        multiple=True,
        metavar="FILE",
        help="Sentences of a test set: pairs with one are left out, whatever its case and "
        "punctuation. All columns of a TSV are read, of JSONL and Parquet 'text'; repeatable.",
    ),
)


@dataclass(frozen=True)
class ParallelText:
    """Files to learn from: sources beside their targets, files with both sides, and a layout."""

    sources: tuple[str, ...]
    targets: tuple[str, ...]
    bitexts: tuple[str, ...]
    layout: BitextFormat
    exclude: tuple[str, ...]

    @property
    def files(self) -> list[str]:
        """All files that are read."""
        return [*self.sources, *self.targets, *self.bitexts, *self.exclude]

    @property
    def empty(self) -> bool:
        return not self.sources and not self.bitexts

    def pairs(self, **of_bitext: str | None) -> list[TextPair]:
        """List what to read; ``of_bitext`` are further fields of ``TextPair`` for bitexts."""
        from miner_train.read import TextPair

        sides = zip(self.sources, self.targets, strict=True)
        return [
            *(TextPair(source, target, self.layout) for source, target in sides),
            *(TextPair(bitext, None, self.layout, **of_bitext) for bitext in self.bitexts),
        ]


def parallel_text(sides: bool = True) -> Decorator:
    """Add the options; the command receives ``text``. ``sides``: --source and --target, too."""

    def decorate(function: Any) -> Any:
        @functools.wraps(function)
        def told(*arguments: Any, **named: Any) -> Any:
            sources, targets = named.pop("sources", ()), named.pop("targets", ())
            if len(sources) != len(targets):
                raise click.UsageError(f"{len(sources)} --source but {len(targets)} --target")
            bitexts = tuple(file for one in named.pop("bitexts") for file in expanded(one))
            layout, exclude = named.pop("layout"), named.pop("exclude")
            text = ParallelText(sources, targets, bitexts, layout, exclude)
            return function(*arguments, text=text, **named)

        decorated = _BITEXT(told)
        return _SIDES(decorated) if sides else decorated

    return decorate
