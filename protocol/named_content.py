"""What records name by its digest: content that stands beside them in a store (R193).

A record that names content gives nobody a right to it: whoever takes records from outside asks
whether all that they name came with them, for it could be another session's (R218).
"""

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from greenroom.protocol.encoding import decode_message
from greenroom.protocol.message import ImagePart
from greenroom.protocol.record import (
    Accepted,
    Answered,
    AnyRecord,
    Asked,
    Compacted,
    Dispatched,
    EagerRan,
    Ended,
    Imported,
    LegacyContext,
    Recomposed,
    Responded,
    Resumed,
    Returned,
)
from greenroom.protocol.record_parts import CallResult

Kind: TypeAlias = Literal["composition", "gates", "package", "image", "result"]


class Named(NamedTuple):
    """One content, and what it is."""

    kind: Kind
    digest: str


def named_in(records: Iterable[AnyRecord]) -> Iterator[Named]:
    """All that records name, as often as they do; each of their messages is read on the way.

    Raises:
        StoreDamaged: a message in them is none.
    """
    for record in records:
        for kind, digest in (*_named_by(record), *_images_of(record)):
            if digest:
                yield Named(kind, digest)
        for result in results_of(record):
            if result.object is not None:
                yield Named("result", result.object)


def results_of(record: AnyRecord) -> tuple[CallResult, ...]:
    """The results of calls that a record holds."""
    match record:
        case Returned() | Asked() | Ended():
            return record.results
        case EagerRan():
            return (record.result,)
        case _:
            return ()


def _named_by(record: AnyRecord) -> Iterator[Named]:
    match record:
        case Dispatched():
            yield Named("composition", record.composition)
            yield Named("gates", record.gates)
        case Resumed():
            yield Named("gates", record.gates)
        case Compacted() | Recomposed():
            yield Named("composition", record.composition)
        case Answered():
            yield Named("result", record.object or "")
        case _:
            pass
    if isinstance(record, Dispatched | LegacyContext) and record.snapshot is not None:
        for skill in record.snapshot.skills:
            yield Named("package", skill.files)


def _images_of(record: AnyRecord) -> Iterator[Named]:
    for body in _messages_of(record):
        content = decode_message(body).content
        for part in () if isinstance(content, str) else content:
            if isinstance(part, ImagePart):
                yield Named("image", part.digest)


def _messages_of(record: AnyRecord) -> Iterator[msgspec.Raw]:
    if isinstance(record, Accepted | Imported | Responded | EagerRan):
        yield record.body
    if isinstance(record, Dispatched | Returned):
        for note in record.notes:
            yield note.body
    for result in results_of(record):
        yield result.body
