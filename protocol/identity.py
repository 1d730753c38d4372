"""Names of things: tenant and session, message, turn, call.

Ids that people choose (tenant, session key, agent, person, label) are any valid text. Ids that
greenroom gives are made so that no prompt ever differs because of them (R65): a tool call is named
by its place in the conversation, never by a random value.
"""

import hashlib
from typing import Final, TypeAlias

import msgspec

from greenroom.protocol.errors import InvalidInput, TooLarge
from greenroom.protocol.limits import DEFAULT_LIMITS, Limits

MessageId: TypeAlias = str
"""A submission: random, unique in the store."""
TurnId: TypeAlias = int
"""A turn: 1, 2, 3 ... within its session."""
CallId: TypeAlias = str
"""A tool call: unique in its session, made of turn, round and place (R181)."""
SkillId: TypeAlias = str
Slug: TypeAlias = str

DEFAULT_TENANT = "default"


class SessionId(msgspec.Struct, frozen=True, order=True):
    """Who owns the session and what it is called; the tenant is part of every stored key (R218)."""

    tenant: str
    key: str

    def __str__(self) -> str:
        return self.key if self.tenant == DEFAULT_TENANT else f"{self.tenant}/{self.key}"


def call_id(turn: TurnId, round_: int, place: int) -> CallId:
    """The id of the ``place``-th call of a round: no clock and no randomness in it (R181)."""
    return f"c{turn}-{round_}-{place}"


def call_key(session: SessionId, call: CallId) -> str:
    """A name for one call that no other call of any session has; equal over a crash (R220).

    It begins with the :func:`session_mark`, so whoever has only this finds the session by it.
    """
    return session_mark(session) + _digest((session.tenant, session.key, call))


def session_mark(session: SessionId) -> str:
    """What the :func:`call_key` of every call of a session begins with."""
    return _digest((session.tenant, session.key))


MARK_CHARACTERS: Final = 32


def _digest(names: tuple[str, ...]) -> str:
    return hashlib.sha256(msgspec.json.encode(names)).hexdigest()[:MARK_CHARACTERS]


def check_name(name: object, what: str, limits: Limits = DEFAULT_LIMITS) -> str:
    """Return ``name`` if it can serve as a name of ``what``.

    Raises:
        InvalidInput: not text, empty, or holding surrogates or NUL (R194).
        TooLarge: longer than ``limits.name_bytes_max``.
    """
    if not isinstance(name, str) or not name:
        raise InvalidInput(f"The {what} must be a text that is not empty.", what=what)
    check_text(name, what, limits.name_bytes_max)
    return name


def check_text(text: str, what: str, bytes_max: int) -> int:
    """Return the length of ``text`` in UTF-8 bytes, or refuse it at the border (R194)."""
    try:
        size = len(text) if text.isascii() else len(text.encode())
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"The {what} holds a lone surrogate at character {error.start}.", what=what
        ) from None
    if size > bytes_max:
        raise TooLarge(
            f"The {what} has {size:,} bytes; the bound is {bytes_max:,}.",
            what=what,
            bytes=size,
            bound=bytes_max,
        )
    if "\0" in text:
        raise InvalidInput(f"The {what} holds a NUL character.", what=what)
    return size


def made_valid(text: str) -> tuple[str, bool]:
    """Return ``text`` as it can be stored, and whether it had to be changed.

    A tool or a model may send what UTF-8 cannot carry; that must not end a turn, so surrogates and
    NUL become U+FFFD and the record is marked (R194, P127, P128).
    """
    if "\0" in text:
        text, changed = text.replace("\0", "\N{REPLACEMENT CHARACTER}"), True
    else:
        changed = False
    if text.isascii():
        return text, changed
    try:
        text.encode()
    except UnicodeEncodeError:
        # A surrogate pair written as two escapes is one valid character; only lone halves are lost.
        joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return joined, True
    return text, changed
