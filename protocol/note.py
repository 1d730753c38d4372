"""Platform notes: what greenroom itself says to the model, in user position, under a label (R6).

A note is rendered once, when it is made, and stored as the bytes that are sent; so it stays at its
place, byte for byte, whatever is sent later (R152). It is no message of the conversation and has no
ordinal (R50, R94).
"""

from collections.abc import Iterable

import msgspec

from greenroom.protocol.encoding import encode_message
from greenroom.protocol.message import UserMessage
from greenroom.protocol.question import Allow, Answer, Deny
from greenroom.protocol.record_parts import NoteKind, PlatformNote
from greenroom.protocol.wording import Wording, one_line


def note(kind: NoteKind, words: str, *, contributor: str = "", about: str = "") -> PlatformNote:
    """A note that is ``words``, which stand under the platform's label already."""
    body = encode_message(UserMessage(words))
    return PlatformNote(kind, msgspec.Raw(body), contributor, about)


def approvals_note(
    answers: Iterable[tuple[str, Answer]], wording: Wording
) -> tuple[PlatformNote, ...]:
    """What a person answered about calls, by tool; nothing where none was asked about (R160)."""
    lines = []
    for tool, answer in answers:
        if isinstance(answer, Allow):
            lines.append(wording.approved.format(tool=tool, by=one_line(answer.by)))
        elif isinstance(answer, Deny):
            lines.append(wording.declined.format(tool=tool, by=one_line(answer.by)))
    if not lines:
        return ()
    return (note("approvals", f"{wording.note_label} {' '.join(lines)}"),)
