"""A session read out of a store as an export, line by line; nothing is activated (R191, R219)."""

from collections.abc import Iterator

from greenroom.actors.session import SessionActor
from greenroom.protocol.encoding import decode_header, decode_records
from greenroom.protocol.errors import Busy, Missing, StoreDamaged
from greenroom.protocol.export_lines import ExportedCommit, head_of, written
from greenroom.protocol.header import Header
from greenroom.protocol.identity import SessionId
from greenroom.protocol.phase import BUSY, Phase
from greenroom.protocol.record import Accepted
from greenroom.store.contract import Entry, Store, Stored


def exported(store: Store, session: SessionId) -> Iterator[bytes]:
    """The lines of a session's export: what is stored of it, at one moment between two turns.

    What is stored is held in memory but for the content, which is read piece by piece.

    Raises:
        Missing: there is no such session, or it was deleted meanwhile.
        Busy: a turn of it is not over, or a message waits.
        StoreDamaged: something of it is not as it was written.
    """
    header, entries, digests = _at_rest(store, session)
    commits = (ExportedCommit(entry.records, _keys(store, entry)) for entry in entries)
    contents = ((digest, _content(store, session, digest)) for digest in digests)
    for line in written(head_of(session, header, store.incarnation), commits, contents):
        _stored(store, session)  # with the session its keys and its content go
        yield line


def _at_rest(store: Store, session: SessionId) -> tuple[Header, list[Entry], list[str]]:
    """The session as it stands between two commits: it is written to in a thread of its own."""
    while True:
        stored = _stored(store, session)
        header = decode_header(stored.header)
        check_settled(session, header, stored.queued)
        entries, digests = store.read(session), store.held(session)
        if _stored(store, session) == stored:
            return header, entries, digests


def check_settled(session: SessionId, header: Header, queued: int) -> None:
    """Raise :class:`Busy` for a session that is not between two turns, as it is stored."""
    if header.parked is not None:
        reason = BUSY[Phase.ASKING if header.open_turn is None else Phase.PARKED]
        way_out = "Answer its questions, or end what waits for them: cancel() or recall()."
    elif header.open_turn is not None:
        reason = "a turn is not over"
        way_out = "Wait until it is; where its host was ended, send a message: that settles it."
    elif queued:
        reason, way_out = "a message is queued", "Wait for its turn, or recall it."
    else:
        return
    raise Busy(f"The session {session} is busy: {reason}.", way_out=way_out, reason=reason)


def check_rests(actor: SessionActor) -> None:
    """Raise what R9 says unless a live session is between two turns; a hold changes nothing."""
    if actor.phase is not Phase.HELD or not actor.gateway.is_empty or actor.pending:
        actor.check_quiet()


def _stored(store: Store, session: SessionId) -> Stored:
    stored = store.look(session)
    if not isinstance(stored, Stored):
        raise Missing(f"There is no session {session}.", session=str(session))
    return stored


def _keys(store: Store, entry: Entry) -> dict[str, bytes]:
    """The idempotency keys that messages of that commit used (R177)."""
    keys = {}
    for record in decode_records(entry.records):
        if isinstance(record, Accepted) and record.key is not None:
            known = store.known(entry.session, record.key)
            if known is not None and known.number == entry.number:
                keys[record.key] = known.digest
    return keys


def _content(store: Store, session: SessionId, digest: str) -> bytes:
    data = store.blob(digest)
    if data is None:
        _stored(store, session)
        raise StoreDamaged(f"Content {digest[:12]} of the session {session} is not in the store.")
    return data
