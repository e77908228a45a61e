"""Advice about mined pairs: repeated ids, files that are already aligned, menus and headings."""

from collections import Counter

import numpy as np

from miner.index.index import Index
from miner.precision.search_result import SearchResult
from miner.scoring.pairs import Pairs

# Minimum number of pairs for advice; minimum share of aligned, and of short pairs.
FEWEST, ALIGNED, SHORT = 100, 0.9, 0.5
# Maximum characters of a heading, or of a menu item.
HEADING = 35
# Maximum number of lines named in a message.
NAMED = 3


def advice(found: SearchResult, kept: Pairs) -> list[str]:
    """Return advice where both texts are aligned, and where most pairs are short."""
    said: list[str] = []
    if len(kept) < FEWEST:
        return said
    left, right = kept.source, kept.target
    same = left.store.line[kept.source_row] == right.store.line[kept.target_row]
    one_file = len(left.sources) == len(right.sources) == 1
    if one_file and left.sources[0].records == right.sources[0].records and same.mean() > ALIGNED:
        said.append(
            f"{np.count_nonzero(same):,} of {len(kept):,} pairs are on equal lines of both files: "
            "if these are aligned, 'miner filter' and 'miner score' judge each line as it stands"
        )
    if found.source_text is not None and found.target_text is not None:
        short = (found.source_text.characters[kept.source_row] < HEADING) & (
            found.target_text.characters[kept.target_row] < HEADING
        )
        if short.mean() > SHORT:
            said.append(
                f"{np.count_nonzero(short):,} of {len(kept):,} pairs are shorter than {HEADING} "
                "characters: if these are menus and headings, 'miner filter --scol 2 --tcol 3' "
                "with a minimum of length removes them"
            )
    return said


def repeated_ids(index: Index, rows: np.ndarray) -> str | None:
    """Return a warning about an id that several of the sentences ``rows`` share, or None."""
    distinct = np.unique(rows)
    ids = index.ids(distinct)
    (name, times), *_ = Counter(ids).most_common(1) or [("", 0)]
    if times < 2:
        return None
    same = distinct[[position for position, key in enumerate(ids) if key == name]]
    lines = ", ".join(map(str, index.store.line[same[:NAMED]].tolist()))
    more = f" and {times - NAMED:,} more" if times > NAMED else ""
    return (
        f"{index.sources[int(index.store.file[same[0]])].path}: the id {name!r} repeats, on lines "
        f"{lines}{more}: such ids tell no pair; give another --id-column, or mend the ids"
    )
