"""Compaction as far as a cache can see it; to be replaced by the real one.

One function does all of it: the prompt is composed anew first, a summary is asked for against it,
and the conversation goes on as the framed summary and its newest turn, whole.
"""

from collections.abc import Callable
from typing import Final

from greenroom.actors.bench.composing import Kept, noted
from greenroom.actors.bench.conversation import Conversation, Sent
from greenroom.actors.bench.filler import words
from greenroom.actors.bench.trace import BYTES_PER_TOKEN, Compact

_ASKED: Final = "Write a summary of this conversation for whoever goes on with it."
_FRAME: Final = "Summary of the conversation before this point, which is not shown any more:\n"


def compact(conversation: Conversation, line: Compact, composed: Callable[[], Kept]) -> Sent:
    """Compact a conversation between two turns; returns the request that asks for the summary."""
    conversation.compose(composed())
    conversation.epoch += 1
    composition = conversation.kept.composition
    newest = conversation.said[conversation.turn :]
    conversation.say(noted(_ASKED, composition))
    asked = conversation.sent(with_person=conversation.line.person is not None)
    key = f"{line.session}/{conversation.epoch}"
    summary = _FRAME + words(key, line.summary * BYTES_PER_TOKEN)
    conversation.replace([noted(summary, composition), *newest], opening=1)
    return asked
