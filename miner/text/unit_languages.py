"""`UnitLanguages`: choice of source and targets among the texts of a translation unit."""

from collections.abc import Iterable

from miner.errors import CorpusError
from miner.text.language_codes import closest, primary

# Positions of the source and of the targets among the texts of a unit.
Places = tuple[int | None, list[int]]


class UnitLanguages:
    """Choice of source and target in each unit of a file.

    ``source`` and ``target`` are the requested languages. A source of None is the language that the
    unit or the ``file`` declares, or else the language of the first text; if that is the target
    language, it is the unit's other language. A target of None is the only other language.
    """

    def __init__(self, source: str | None, target: str | None):
        self.source, self.target = source, target
        self.file: str | None = None
        self._codes: dict[str, None] = {}  # of all units, in order
        self._others: dict[str, set[str]] = {"source": set(), "target": set()}
        self._met = {"source": False, "target": False}
        self._known: dict[tuple[str | None, tuple[str, ...]], Places] = {}

    def places(self, unit: str | None, codes: tuple[str, ...]) -> Places:
        """Return the positions of source and targets among the texts of a unit, by their ``codes``.

        ``unit`` is the source language that the unit declares. Raises CorpusError if the unit has
        more languages than can be chosen from.
        """
        if (unit, codes) not in self._known:
            if not self._codes.keys() >= set(codes):
                self._known.clear()
                self._codes |= dict.fromkeys(codes)
            self._known[unit, codes] = self._places(unit or self.file, codes)
        return self._known[unit, codes]

    def check(self, name: str) -> None:
        """Raise CorpusError if the file ``name`` has units, but none with a source, or with a
        target.
        """
        there = f"there are: {', '.join(sorted(self._codes))}"
        for side, asked in (("source", self.source), ("target", self.target)):
            if self._met[side] or not self._codes:
                continue
            option = f"--{side[0]}col"
            if asked is None and side == "target":
                raise CorpusError(f"{name}: no unit has texts in two languages; {there}")
            if asked is None:
                raise CorpusError(
                    f"{name}: no unit has a text in {self.file!r}, the source language of the "
                    f"file; {there}; choose one with {option}"
                )
            beside = " beside its source" if closest(asked, [*self._codes]) else ""
            raise CorpusError(
                f"{name}: no unit has a text in {asked!r} ({option}){beside}; {there}"
            )

    def _places(self, usual: str | None, codes: tuple[str, ...]) -> Places:
        every = range(len(codes))
        alone = len({*map(primary, self._codes)}) == 1
        if self.source is None and self.target is not None and not alone:
            targets = _closest(self.target, codes, every)
            rest = [place for place in every if place not in targets]
            sources = _closest(usual, codes, rest) if usual else []
            if not sources and (not usual or closest(self.target, [usual])):
                sources = rest
                self._refuse_several("source", [codes[place] for place in rest])
        else:
            if not (self.source or usual) and codes:
                self.file = usual = codes[0]
            wanted = self.source or usual or ""
            sources = _closest(wanted, codes, every)
            rest = [place for place in every if place not in sources[:1]]
            if self.target is not None:
                targets = _closest(self.target, codes, rest)
            elif alone:
                targets = rest
            else:
                targets = [place for place in rest if not closest(wanted, [codes[place]])]
                if sources:
                    self._refuse_several("target", [codes[place] for place in targets])
                else:
                    targets = targets[:1]
        self._met["source"] |= bool(sources)
        self._met["target"] |= bool(targets)
        return sources[0] if sources else None, targets

    def _refuse_several(self, side: str, codes: Iterable[str]) -> None:
        others = self._others[side]
        others.update(map(primary, codes))
        if len(others) > 1:
            raise CorpusError(
                f"several {side} languages ({', '.join(sorted(others))}); choose one with "
                f"--{side[0]}col"
            )


def _closest(wanted: str, codes: tuple[str, ...], places: Iterable[int]) -> list[int]:
    """Return the positions, among ``places``, whose codes match ``wanted`` best."""
    among = [*places]
    return [among[place] for place in closest(wanted, [codes[place] for place in among])]
