"""Requests as they are rebuilt, of a kept prompt and messages, for tests of what parts them."""

from collections.abc import Iterable

from greenroom.protocol.composition import Composition, render
from greenroom.protocol.encoding import encode_message
from greenroom.protocol.identity import SessionId
from greenroom.protocol.message import AssistantMessage
from greenroom.protocol.permission import PRESETS
from greenroom.protocol.projection import Origin, SkillExpansion, Source
from greenroom.protocol.rebuild import SentRequest
from greenroom.protocol.request import Messages, ModelRequest, request_digest
from tests.protocol.prompt_samples import composition, user

Told = tuple[Source, bytes]

ANN, BEN = SessionId("default", "ann"), SessionId("default", "ben")


def said(
    words: str,
    message: int,
    *,
    turn: int | None = 1,
    by: str = "user",
    expansion: SkillExpansion | None = None,
) -> Told:
    """A message of the conversation."""
    body = user(words) if by == "user" else encode_message(AssistantMessage(words))
    return Source("history", message, expansion, turn), body


def beside(origin: Origin, words: str, contributor: str = "", turn: int = 1) -> Told:
    """What is sent among the messages and is none of the conversation."""
    return Source(origin, None, None, turn, contributor), user(words)


def sent(
    *told: Told,
    kept: Composition | None = None,
    preset: str = "read-only",
    agent: str = "support",
    person: str | None = None,
    session: SessionId | None = ANN,
) -> SentRequest:
    """A request of that session's turn 1."""
    kept = kept or composition()
    system = render(kept, PRESETS.get(preset), with_person=person is not None)
    bodies = [body for _, body in told]
    request = ModelRequest(
        kept.model, system.text, kept.tools, Messages(bodies, len(bodies)), kept.parameters
    )
    digest = request_digest(request)
    return SentRequest(
        1,
        0,
        request,
        digest,
        digest,
        kept,
        system.sections,
        tuple(source for source, _ in told),
        preset,
        agent,
        person,
        session,
    )


def talk(*words: str) -> Iterable[Told]:
    """A conversation: what is said in turn by a person and the model."""
    for number, each in enumerate(words):
        by = "assistant" if number % 2 else "user"
        yield said(each, number, turn=number // 2 + 1, by=by)
