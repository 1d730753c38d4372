"""A history from elsewhere as a new session: taken as it is, and told what is wrong with it (R48).

Nothing is mended here. What was imported is stored unchanged; where a provider would refuse it, the
requests are mended (:mod:`greenroom.protocol.repair`), and the map of a request says so.
"""

from collections.abc import Iterator, Sequence

import msgspec

from greenroom.actors.handle import Session
from greenroom.actors.scope import Scope
from greenroom.protocol.encoding import encode_message
from greenroom.protocol.errors import BrokenMetadata, InvalidInput
from greenroom.protocol.identity import check_text
from greenroom.protocol.limits import DEFAULT_LIMITS, Limits
from greenroom.protocol.message import AssistantMessage, Message, ToolMessage, UserMessage, text_of
from greenroom.protocol.record import Imported, LegacyContext
from greenroom.protocol.repair import Fault, report
from greenroom.protocol.runtime_context import RuntimeContextSnapshot, check_anchors


async def import_history(
    scope: Scope,
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
        InvalidInput, TooLarge: a text that cannot be stored (R194).
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
    check_text(text_of(message.content), "imported message", bound)
    if isinstance(message, AssistantMessage):
        for call in message.tool_calls:
            for text in (call.id, call.function.name, call.function.arguments):
                check_text(text, "imported call", bound)
    if isinstance(message, ToolMessage):
        check_text(message.tool_call_id, "imported call", bound)
    return encode_message(message)
