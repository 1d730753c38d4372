"""A grant: what a person allowed and no call used, because the turn ended before it began (P139).

It is good in the session's next turn, for one call with the same digest, and then it is gone, used
or not. What is left of a turn is said by the record of its end, and each use by the record of the
answer whose call runs by it; so what is granted follows from the records alone (R161).
"""

from collections.abc import Iterable

import msgspec

from greenroom.protocol.identity import SessionId, session_mark
from greenroom.protocol.question import Allow, Answer, Asking
from greenroom.protocol.record import Answered, AnyRecord, Asked


class Grant(msgspec.Struct, frozen=True, gc=False):
    """A yes that is good for one call."""

    question: str
    tool: str
    digest: str
    """Of the call that was shown; any other is asked about."""
    answer: Allow

    def is_of(self, session: SessionId) -> bool:
        """Whether it was given there: a copy of a session has its questions, and no grant."""
        return self.question.startswith(session_mark(session))


def grant_of(asking: Asking, answer: Answer) -> Grant | None:
    """What an answer grants; None: nothing, it is no yes."""
    if not isinstance(answer, Allow):
        return None
    return Grant(asking.id, asking.tool, asking.digest, answer)


def grants_of(records: Iterable[AnyRecord], questions: Iterable[str]) -> tuple[Grant, ...]:
    """What the answers of these questions granted, in their order, as ``records`` have it."""
    asked: dict[str, Asking] = {}
    answers: dict[str, Answer] = {}
    for record in records:
        if isinstance(record, Asked):
            asked.update((one.id, one) for one in record.questions)
        elif isinstance(record, Answered):
            answers.setdefault(record.question, record.answer)  # the first one stands
    found = [grant_of(asked[n], answers[n]) for n in questions if n in asked and n in answers]
    return tuple([grant for grant in found if grant is not None])
