"""What an export tells: whether it is a session that can be gone on with, and what it was sent.

All of it is read from the lines alone, with no store and no host (P145).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Final, NoReturn

from greenroom.protocol.encoding import decode
from greenroom.protocol.errors import GreenroomError, StoreTooNew
from greenroom.protocol.export_lines import NUMBER_MAX, Exported, read_export
from greenroom.protocol.gate import decode_commitment
from greenroom.protocol.header import Header
from greenroom.protocol.identity import SessionId
from greenroom.protocol.limits import DEFAULT_LIMITS, Limits
from greenroom.protocol.named_content import Named, named_in
from greenroom.protocol.projector import Projector
from greenroom.protocol.prompt_checkpoint import replay
from greenroom.protocol.rebuild import (
    SentRequest,
    checkpoints_of,
    composition_from,
    request_at,
    sent_in,
)
from greenroom.protocol.record import AnyRecord, Compacted, Deleted, Opened, TitleMade
from greenroom.protocol.refusal import BadExport, ExportTooNew
from greenroom.protocol.runtime_context import check_anchors
from greenroom.protocol.summarised import summary_request_at
from greenroom.protocol.tally import Tally
from greenroom.protocol.titling import TitleRequest, title_request_at
from greenroom.protocol.wording import wording_of


def requests_in(
    lines: Iterable[bytes], limits: Limits = DEFAULT_LIMITS
) -> Iterator[SentRequest | TitleRequest]:
    """Every request that a session sent, rebuilt from the lines of its export, in order (P145).

    Those of its turns, those for summaries and for titles; ``is_exact`` says that the bytes are
    those that were sent (R196). Each is rebuilt from the session's first record on.

    Raises:
        BadExport, ExportTooNew, TooLarge: the lines are no export as it was written.
        StoreDamaged: what a record names is not in it.
    """
    exported = read_export(lines, limits)
    return requests_of(exported.records, exported.contents.get, exported.session)


def requests_of(
    records: Sequence[AnyRecord],
    blob: Callable[[str], bytes | None],
    session: SessionId | None = None,
) -> Iterator[SentRequest | TitleRequest]:
    """Every request that was sent, in order; see :func:`request_at` for what it is made of."""
    sent = {each.index: each for each in sent_in(records)}
    compactions, titles, turn, places = count(), count(), 0, count()
    for index, record in enumerate(records):
        if isinstance(record, Compacted):
            compaction = next(compactions)
            for call in range(len(record.calls)):
                yield summary_request_at(records, compaction, call, blob)
        elif isinstance(record, TitleMade):
            yield title_request_at(records, next(titles))
        if index in sent:
            if sent[index].turn != turn:
                turn, places = sent[index].turn, count()
            yield request_at(records, turn, next(places), blob, session)


def check_whole(exported: Exported) -> None:
    """Refuse what could not be opened as the session that it was: it is read back once for it.

    Raises:
        BadExport: it does not begin as a session does, a turn is not over, it names content that
            is not in it, or its parts do not fit together.
        ExportTooNew: it was rendered by a newer greenroom.
    """
    try:
        _check_records(exported.records, exported.header)
        _check_contents(exported)
        _check_opens(exported)
    except BadExport:
        raise
    except StoreTooNew as error:
        raise ExportTooNew(error.sentence) from error
    except GreenroomError as error:
        _refuse(f"cannot be opened: {error.sentence}", error)
    except Exception as error:  # noqa: BLE001 - whatever it is, it comes of what is in these lines
        _refuse(f"cannot be opened ({type(error).__name__}).", error)


def _check_records(records: Sequence[AnyRecord], header: Header) -> None:
    opened = records[0] if records else None
    if not isinstance(opened, Opened):
        _refuse("does not begin as a session does.")
    if any(isinstance(record, Opened | Deleted) for record in records[1:]):
        _refuse("begins twice, or was deleted.")
    told = (opened.agent, opened.person, opened.at)
    if told != (header.agent, header.person, header.created):
        _refuse("is of another agent, person or time than its head says.")
    tally = Tally(records)
    if tally.open_turn is not None:
        _refuse(f"has a turn that is not over: {tally.open_turn.turn:,}.")
    if tally.turns > NUMBER_MAX:
        _refuse(f"has a turn of the number {tally.turns}.")
    check_anchors(tally.snapshots, tally.users)


_PATHS: Final = dict[str, str]


def _check_contents(exported: Exported) -> None:
    """All that it names is in it: a digest alone gives no right to what a store has (R218)."""
    header, contents = exported.header, exported.contents
    named = dict.fromkeys(named_in(exported.records))
    named[Named("composition", header.composition or "")] = None
    named[Named("gates", header.gates)] = None
    for kind, digest in named:
        if not digest:
            continue
        data = _content(contents, digest)
        match kind:
            case "composition":
                for skill in composition_from(digest, contents.get).skills:
                    _check_package(contents, skill.files)
            case "package":
                _check_package(contents, digest)
            case "gates":
                decode_commitment(data)
            case _:
                pass


def _check_package(contents: Mapping[str, bytes], digest: str) -> None:
    if digest:  # a skill of a history from elsewhere has none
        for file in decode(_content(contents, digest), _PATHS, "list of a skill's files").values():
            _content(contents, file)


def _content(contents: Mapping[str, bytes], digest: str) -> bytes:
    data = contents.get(digest)
    if data is None:
        _refuse(f"names the content {digest[:12]}, which is not in it.")
    return data


def _check_opens(exported: Exported) -> None:
    records, header = exported.records, exported.header
    blob = exported.contents.get
    if header.composition is None:
        return
    composition = composition_from(header.composition, blob)
    wording_of(composition.wording)
    Projector(composition, composition.model).take(records)
    checkpoints = checkpoints_of(records, blob)
    if checkpoints:
        replay(checkpoints)


def _refuse(what: str, cause: Exception | None = None) -> NoReturn:
    raise BadExport(f"The exported session {what}") from cause
