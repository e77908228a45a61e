"""Reader of the normalisation in a serialised SentencePiece model, by protobuf's wire format."""

from collections.abc import Iterator
from dataclasses import dataclass

from miner.errors import ArtifactError

# Numbers of the fields of ModelProto and NormalizerSpec (sentencepiece_model.proto).
NORMALIZER_SPEC = 3
CHARSMAP, DUMMY_PREFIX, EXTRA_WHITESPACES = 2, 3, 4


@dataclass(frozen=True)
class NormalizerSpec:
    """The character map, and whether spaces are added before a sentence and repeats removed."""

    charsmap: bytes = b""
    add_dummy_prefix: bool = True
    remove_extra_whitespaces: bool = True


def normalizer_spec(vocabulary: bytes) -> NormalizerSpec:
    """Read the normalisation of a model. Raises ArtifactError for bytes that are none."""
    found = NormalizerSpec()
    for number, value in _fields(vocabulary):
        if number == NORMALIZER_SPEC and isinstance(value, bytes):
            known = dict(_fields(value))
            charsmap = known.get(CHARSMAP, b"")
            found = NormalizerSpec(
                charsmap if isinstance(charsmap, bytes) else b"",
                bool(known.get(DUMMY_PREFIX, True)),
                bool(known.get(EXTRA_WHITESPACES, True)),
            )
    return found


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield number and value of each field: an integer, or bytes."""
    place = 0

    def varint() -> int:
        nonlocal place
        value = shift = 0
        while True:
            byte = data[place]
            place += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    try:
        while place < len(data):
            key = varint()
            number, kind = key >> 3, key & 7
            if kind == 0:
                yield number, varint()
                continue
            size = {1: 8, 5: 4}.get(kind)
            if size is None:
                if kind != 2:
                    raise ValueError(f"wire type {kind}")
                size = varint()
            if place + size > len(data):
                raise ValueError("a field that is cut short")
            yield number, data[place : place + size]
            place += size
    except (IndexError, ValueError) as error:
        raise ArtifactError(f"not a SentencePiece model ({error}); copy it again") from None
