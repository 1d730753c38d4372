"""A new session of what comes from elsewhere: taken as it is, whole or not at all.

A history is messages alone: taken as they are, and told what is wrong with them (R48). Nothing is
mended here. What was imported is stored unchanged; where a provider would refuse it, the requests
are mended (:mod:`greenroom.protocol.repair`), and the map of a request says so. An export is a
session of ours with all that it was: it is taken exactly, or refused (R191).
"""

from collections.abc import AsyncIterable, Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Final

import msgspec
import trio
from msgspec import structs

from greenroom.actors.border import check_labels, check_names, check_title
from greenroom.actors.creating import made, used_up
from greenroom.actors.handle import Session
from greenroom.actors.index import WHOLE
from greenroom.actors.services import Services
from greenroom.actors.terms import terms_of, with_revisions
from greenroom.protocol.encoding import decode_records, encode_header, encode_message
from greenroom.protocol.errors import BrokenMetadata, InvalidInput, Mismatch
from greenroom.protocol.export_lines import Exported, ExportedCommit, Reading, Withdrawals
from greenroom.protocol.exported import check_whole
from greenroom.protocol.filter import Term, composition_terms
from greenroom.protocol.identity import SessionId, check_text
from greenroom.protocol.limits import DEFAULT_LIMITS, Limits
from greenroom.protocol.message import (
    AssistantMessage,
    ImagePart,
    Message,
    ToolMessage,
    UserMessage,
    text_of,
)
from greenroom.protocol.rebuild import composition_from
from greenroom.protocol.record import Imported, LegacyContext
from greenroom.protocol.repair import Fault, report
from greenroom.protocol.runtime_context import RuntimeContextSnapshot, check_anchors
from greenroom.store.contract import Copied, Create, Exists, Gone, KeyEntry, Stored

if TYPE_CHECKING:
    from greenroom.actors.scope import Scope

LINES_BETWEEN_CHECKPOINTS: Final = 64
LONG_BYTES: Final = 1_048_576
"""A line of more than this is read outside of the loop."""


async def import_history(
    scope: "Scope",
    key: str,
    /,
    *,
    agent: str,
    messages: Sequence[Message],
    contexts: Sequence[RuntimeContextSnapshot] = (),
    person: str | None = None,
    at: int = 0,
    limits: Limits = DEFAULT_LIMITS,
) -> tuple[Session, tuple[Fault, ...]]:
    """Create a session whose conversation begins with ``messages``; the next turn goes on there.

    Args:
        scope: a host or a tenant.
        key: the new session's name; it must be free.
        agent: whose session it is.
        messages: the history, oldest first, whole or broken.
        contexts: its version-2 context snapshots, by the ordinals of their user messages.
        person: who talks.
        at: when it was said, in milliseconds since 1970 (UTC); 0: not known.
        limits: the bounds that its texts keep.

    Returns:
        The session, and what a provider would refuse in the history; nothing of that is changed.

    Raises:
        InvalidInput, TooLarge: a text that cannot be stored (R194), or an image (R218).
        BrokenMetadata: contexts that do not fit the messages (R55).
        Mismatch: there is a session of that key.
    """
    bodies = [_encoded(message, limits) for message in messages]
    users = sum(isinstance(message, UserMessage) for message in messages)
    check_anchors(contexts, users)
    for context in contexts:
        if context.placement is not None:
            raise BrokenMetadata(
                f"The context of user message {context.user_turn} is not of version 2.",
                user_turn=context.user_turn,
            )
    faults = report(bodies)
    session = scope.id_of(key)
    history = list(_records(messages, bodies, contexts, at))
    await scope.create(session, agent=agent, person=person, history=history)
    return await scope.session(key), faults


def _records(
    messages: Sequence[Message],
    bodies: Sequence[bytes],
    contexts: Sequence[RuntimeContextSnapshot],
    at: int,
) -> Iterator[Imported | LegacyContext]:
    """The history as records, each context right behind the message that it is anchored to."""
    ordinal = 0
    for message, body in zip(messages, bodies, strict=True):
        if not isinstance(message, UserMessage):
            yield Imported(at, msgspec.Raw(body))
            continue
        yield Imported(at, msgspec.Raw(body), ordinal)
        yield from (LegacyContext(c) for c in contexts if c.user_turn == ordinal)
        ordinal += 1


def _encoded(message: Message, limits: Limits) -> bytes:
    """One message as it is stored. Raises :class:`InvalidInput` for what cannot be (R194)."""
    bound = limits.response_bytes_max
    if not isinstance(message, UserMessage | AssistantMessage | ToolMessage):
        raise InvalidInput(
            f"A history holds messages, not a {type(message).__name__}.", what="imported message"
        )
    if any(isinstance(part, ImagePart) for part in message.content):
        # Its digest could name what another session holds (R218).
        raise InvalidInput(
            "A history brings no images: it has their digests, and not their bytes.",
            way_out="Leave them out, or import the session from its export.",
            what="imported message",
        )
    check_text(text_of(message.content), "imported message", bound)
    if isinstance(message, AssistantMessage):
        for call in message.tool_calls:
            for text in (call.id, call.function.name, call.function.arguments):
                check_text(text, "imported call", bound)
    if isinstance(message, ToolMessage):
        check_text(message.tool_call_id, "imported call", bound)
    return encode_message(message)


# --- a session of ours ----------------------------------------------------------------------------


async def import_into(
    services: Services, session: SessionId, lines: AsyncIterable[bytes] | Iterable[bytes]
) -> None:
    """Make the session of an export; see ``Scope.import_session``."""
    _check_free(session, services.store.look(session))
    exported = await _read(services, lines)
    records = chain.from_iterable(decode_records(each.records) for each in exported.commits)
    header = structs.replace(
        with_revisions(exported.header, records),
        withdrawals=_known(services, exported.withdrawals),
        indexed=WHOLE,
        recompositions=_marked(services, exported),
    )
    services.workspace.agent(header.agent)
    check_names(services.limits, agent=header.agent, person=header.person, preset=header.preset)
    check_labels(header.labels, services.limits)
    check_title(header.title, services.limits)
    await trio.to_thread.run_sync(check_whole, exported, limiter=services.reading)
    first, *behind = exported.commits
    operation = Create(
        session,
        encode_header(header),
        first.records,
        terms_of(session, header, _kept(exported)),
        tuple(map(_copied, behind)),
        exported.contents,
    )
    verdict = await made(services, operation, decode_records(exported.commits[-1].records))
    _check_free(session, verdict)


def _known(services: Services, told: Withdrawals | None) -> int:
    """How many withdrawals it knows of: none of another store's, so that nothing is shown again."""
    if told is None or told.store != services.store.incarnation:
        return 0
    return max(0, min(told.known, len(services.holds.withdrawn)))


def _marked(services: Services, exported: Exported) -> int:
    """Up to which mark it was asked: of another store's none counts here (R239)."""
    told = exported.withdrawals
    if told is None or told.store != services.store.incarnation:
        return 0
    return min(exported.header.recompositions, services.marks.last)


def _check_free(session: SessionId, found: object) -> None:
    if isinstance(found, Stored | Exists):
        raise Mismatch(
            f"There is a session {session}; an export makes a new one.",
            way_out="Import it under another key.",
        )
    if isinstance(found, Gone):
        raise used_up(session)


async def _read(services: Services, lines: AsyncIterable[bytes] | Iterable[bytes]) -> Exported:
    reading = Reading(services.limits)
    if isinstance(lines, AsyncIterable):
        async for line in lines:
            await _take(services, reading, line)
    else:
        for line in lines:
            await _take(services, reading, line)
    return reading.whole()


async def _take(services: Services, reading: Reading, line: object) -> None:
    """Take the next line, so that others get to run meanwhile."""
    if not isinstance(line, bytes):
        raise InvalidInput("An export is lines of bytes.", what="export")
    if len(line) > LONG_BYTES:
        await trio.to_thread.run_sync(reading.take, line, limiter=services.reading)
        return
    reading.take(line)
    if reading.lines % LINES_BETWEEN_CHECKPOINTS == 0:
        await trio.lowlevel.checkpoint()


def _kept(exported: Exported) -> frozenset[Term]:
    """What it shows by its kept prompt."""
    digest = exported.header.composition
    if digest is None:
        return frozenset()
    return composition_terms(composition_from(digest, exported.contents.get))


def _copied(commit: ExportedCommit) -> Copied:
    return Copied(commit.records, tuple([KeyEntry(*pair) for pair in commit.keys.items()]))
