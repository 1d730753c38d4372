"""What a conversation opens with: a labelled note, what was loaded, and what was run for it.

The opening stands in front of the first message and is shared as far as it can be: the note and the
loads are part of the composition, and equal for all conversations that share it; runs come last,
since each was made for its own conversation (R214). It begins in user position, because some
providers refuse a tool exchange before any user message (C18).
"""

import hashlib
from collections.abc import Iterable, Sequence

from greenroom.protocol.composition import Composition, opening_texts
from greenroom.protocol.contributor import EagerRun
from greenroom.protocol.encoding import encode_message
from greenroom.protocol.identity import CallId
from greenroom.protocol.message import (
    AssistantMessage,
    Function,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from greenroom.protocol.record import Answered, AnyRecord, EagerAsked, NotSent, Recalled
from greenroom.protocol.wording import one_line, wording_of


def opening_note(composition: Composition) -> bytes:
    """The note that every opening begins with; empty where a conversation has none (C18, R150)."""
    if not (composition.opening or composition.loaded or runs_of(composition)):
        return b""
    wording = wording_of(composition.wording)
    told = [
        wording.run_about.format(tool=run.tool, about=one_line(run.about))
        for run in runs_of(composition)
        if run.about
    ]
    parts = [*opening_texts(composition), *told] or [wording.opening]
    words = "\n\n".join(parts)
    return encode_message(UserMessage(f"{wording.note_label} {words}"))


def runs_of(composition: Composition) -> tuple[EagerRun, ...]:
    """What is run when a conversation begins, in its order."""
    return tuple([each for each in composition.eager if isinstance(each, EagerRun)])


def asked_first(records: Iterable[AnyRecord]) -> tuple[EagerAsked, ...]:
    """The runs that wait for their approval before a conversation begins, oldest first (R215)."""
    waiting: dict[str, EagerAsked] = {}
    for record in records:
        match record:
            case EagerAsked():
                waiting[record.question.id] = record
            case Answered():
                waiting.pop(record.question, None)
            case Recalled() | NotSent():
                for name in record.withdrawn:
                    waiting.pop(name, None)
            case _:
                pass
    return tuple(waiting.values())


def call_of(contributor: str, place: int) -> CallId:
    """The id of a contributor's ``place``-th call: the same in every conversation (R214)."""
    return f"e{hashlib.sha256(contributor.encode()).hexdigest()[:16]}-{place}"


def exchange(calls: Sequence[tuple[ToolCall, str]]) -> tuple[bytes, ...]:
    """Calls and their results as the messages of a tool exchange."""
    asked = encode_message(AssistantMessage("", tuple([call for call, _ in calls])))
    results = [encode_message(ToolMessage(call.id, text)) for call, text in calls]
    return (asked, *results)


def called(contributor: str, wanted: Iterable[tuple[str, str]]) -> list[ToolCall]:
    """The calls of a contributor: (tool, arguments as JSON), in order."""
    return [
        ToolCall(call_of(contributor, place), Function(tool, arguments))
        for place, (tool, arguments) in enumerate(wanted)
    ]
