"""Titles: of which words one is made, how a model is asked for it, and what is taken of an answer.

A title is made of what persons typed and of nothing else: not of skills, notes, answers, summaries,
images, what a host submitted, or an imported history, in which nobody knows who wrote what stands
in user position (R95). The words stand in the request as JSON strings, so they are those that were
typed, byte for byte (R23), and no text of them can end early and speak for itself.

Such a request is of no conversation: it has a system string of its own and one message.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from greenroom.protocol.encoding import decode_message, encode, encode_message
from greenroom.protocol.errors import Missing
from greenroom.protocol.identity import MessageId
from greenroom.protocol.message import Content, TextPart, UserMessage
from greenroom.protocol.record import Accepted, AnyRecord, Dispatched, Returned, TitleMade
from greenroom.protocol.request import Messages, ModelRequest, request_digest
from greenroom.protocol.skill import cut_text
from greenroom.protocol.wording import Wording, wording_of


class TitleWords(msgspec.Struct, frozen=True):
    """What persons typed first in a conversation."""

    texts: tuple[str, ...] = ()
    """As they were typed; only the last may be cut."""
    messages: int = 0
    """How many messages they are of."""


class TitleRequest(msgspec.Struct, frozen=True):
    """A request for a title, rebuilt from the store."""

    request: ModelRequest
    recorded: str
    """The digest that was recorded of it."""
    rebuilt: str
    """The digest of what was rebuilt."""

    @property
    def is_exact(self) -> bool:
        """Whether the rebuilt bytes are those that were sent (R196)."""
        return self.recorded == self.rebuilt


def title_words(records: Iterable[AnyRecord], messages: int, size: int) -> TitleWords:
    """The words of which a session's title is made; none while nobody has typed any (R95, R23).

    Args:
        records: of the session, from its first; no more are read than are needed.
        messages: of how many messages at most, those without words not counted.
        size: how many bytes of UTF-8 at most; cut between two characters.
    """
    texts: list[str] = []
    taken = 0
    for message in _typed(records):
        for text in message:
            kept = cut_text(text, size)
            if kept:
                texts.append(kept)
            size -= len(text.encode())
        taken += 1
        if taken == messages or size <= 0:
            break
    return TitleWords(tuple(texts), taken)


def _typed(records: Iterable[AnyRecord]) -> Iterator[list[str]]:
    """The texts of each message with words, in the order in which the conversation has them.

    What is queued, was recalled or was not sent is not in it.
    """
    accepted: dict[MessageId, Accepted] = {}
    for record in records:
        match record:
            case Accepted(by="person"):
                accepted[record.message] = record
                continue
            case Dispatched():
                entered = [record.message]
            case Returned():
                entered = [steer.message for steer in record.steers]
            case _:
                continue
        for name in entered:
            found = accepted.pop(name, None)
            if found is not None and (texts := typed_in(found.body)):
                yield texts


def typed_in(body: bytes | msgspec.Raw) -> list[str]:
    """The words of an encoded user message, text by text; what is blank is none (R36)."""
    content: Content = decode_message(body).content
    parts = (TextPart(content),) if isinstance(content, str) else content
    return [part.text for part in parts if isinstance(part, TextPart) and part.text.strip()]


def title_request(model: str, texts: Sequence[str], wording: Wording) -> ModelRequest:
    """The request for a title of these words."""
    words = b"\n".join(map(encode, texts)).decode()
    message = encode_message(UserMessage(wording.typed.format(words=words)))
    return ModelRequest(model, wording.titling, b"[]", Messages([message], 1), b"{}")


def title_request_at(records: Sequence[AnyRecord], number: int) -> TitleRequest:
    """Rebuild a request for a title (-1: the last), as the model was given it (R196).

    Raises:
        Missing: there is no such request.
        StoreTooNew: a later release of greenroom made it.
    """
    asked = [record for record in records if isinstance(record, TitleMade)]
    try:
        made = asked[number]
    except IndexError:
        raise Missing(
            f"There is no request {number} for a title; of those the session has {len(asked)}.",
            number=number,
        ) from None
    words = title_words(records, made.messages, made.size)
    request = title_request(made.model, words.texts, wording_of(made.wording))
    return TitleRequest(request, made.request, request_digest(request))


# --- what is taken of an answer -------------------------------------------------------------------

_ELLIPSIS: Final = "…"
_BREAKS: Final = frozenset({"Cc", "Zl", "Zp"})
"""Kinds of characters that control a terminal or end a line."""
_JOINERS: Final = frozenset("\u200c\u200d")
"""Unseen ones that words of some scripts, and many signs, are spelled with."""
_QUOTES: Final = frozenset({'""', "''", "“”", "„“", "”“", "‘’", "«»", "»«", "‹›", "「」", "『』"})
_MARKUP: Final = " *_`#"
_LABEL: Final = "title:"


def title_of(answer: str, size: int) -> str:
    """What of an answer can be a title of at most ``size`` bytes: its first line with a word in it.

    Without control characters, quotes around it and markup; cut with an ellipsis. Empty: nothing.
    """
    for line in answer.splitlines():
        title = _bare(line)
        if any(map(str.isalnum, title)):
            return _cut(title, size)
    return ""


def _bare(line: str) -> str:
    shown = "".join(" " if is_break(sign) else sign for sign in line if not _is_hidden(sign))
    title = " ".join(shown.split()).strip(_MARKUP)
    if title.casefold().startswith(_LABEL):
        title = title[len(_LABEL) :].strip(_MARKUP)
    while title[:1] + title[-1:] in _QUOTES and not {title[0], title[-1]} & {*title[1:-1]}:
        title = title[1:-1].strip(_MARKUP)
    return title


def _cut(title: str, size: int) -> str:
    if len(title.encode()) <= size:
        return title
    head = cut_text(title, max(0, size - len(_ELLIPSIS.encode()))).rstrip()
    return f"{head}{_ELLIPSIS}" if head else ""


def is_break(sign: str) -> bool:
    """Whether a character cannot stand in one line of text that is shown."""
    return unicodedata.category(sign) in _BREAKS


def _is_hidden(sign: str) -> bool:
    return unicodedata.category(sign) in ("Cf", "Cs") and sign not in _JOINERS
