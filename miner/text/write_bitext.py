"""Writing of a bitext's rows in the format of a path, or to a file per side."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from miner.option_values import SIDES, Languages
from miner.text.compression import packing
from miner.text.formats import FORMATS, file_format
from miner.text.language_codes import language_pair
from miner.text.output import Waiting, all_or_none, one_line, open_output
from miner.text.text_format import NamedRows


def write_bitext(
    rows: NamedRows,
    paths: Sequence[str],
    languages: Languages = (None, None),
    together: Waiting | None = None,
    ids: Sequence[str] = (),
) -> None:
    """Write rows in the format of one path, or their sides to two paths.

    The cells ``ids`` are written beside two files: `out.ids` for `out.de` and `out.en`.
    ``together``: see :func:`miner.text.output.all_or_none`. Raises ResourceError, and CorpusError
    for rows that the format cannot hold, and ValueError for an unknown code in ``languages``.
    """
    languages = language_pair(languages)
    if len(paths) == 1:
        kind = FORMATS[file_format(paths[0])]
        kind.write(rows, paths[0], languages, together=together)
        return
    outputs: dict[str, Sequence[str]] = {
        path: (side,) for path, side in zip(paths, SIDES, strict=True)
    }
    if ids:
        outputs[beside(paths[0], ".ids")] = ids
    with ExitStack() as stack:
        waiting = stack.enter_context(all_or_none()) if together is None else together
        files = [
            (stack.enter_context(open_output(path, together=waiting)), keys)
            for path, keys in outputs.items()
        ]
        for row in rows:
            for file, keys in files:
                file.write("\t".join(one_line(str(row[key])) for key in keys) + "\n")


def beside(path: str, suffix: str) -> str:
    """Return the path of a companion file of a side's file: `out.ids` for `out.de`."""
    end = packing(path)
    return str(Path(path.removesuffix(end)).with_suffix(suffix)) + end
