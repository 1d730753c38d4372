"""A turn that waits for answers, as its records tell it, and the questions of a session.

Whether a turn is parked follows from its records alone, so it is the same after a restart, and a
turn that was never out of memory goes on exactly like one that was read back (R161, R223).
"""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import msgspec

from greenroom.protocol.identity import CallId, MessageId, SessionId
from greenroom.protocol.question import Asking, Question, Withdrawn, settled, shown
from greenroom.protocol.record import (
    Answered,
    AnyRecord,
    Asked,
    Compacted,
    Dispatched,
    Ended,
    Responded,
    Resumed,
    Returned,
)
from greenroom.protocol.usage import Usage

Since: TypeAlias = Responded | Returned | Asked | Answered | Resumed | Compacted
"""What an open turn is made of behind its dispatch; a compaction may stand before it."""


class Parked(msgspec.Struct, frozen=True):
    """An open turn that waits: all that it needs to go on."""

    start: Dispatched
    answer: Responded
    """The round's answer, whose calls are asked about."""
    asked: Asked
    told: frozenset[CallId]
    """Calls of the round whose result is stored."""
    answers: dict[str, Answered]
    """By question; a question that is not in it is open."""
    absorbed: tuple[MessageId, ...]
    usage: Usage
    """Of its answers."""
    relief: Usage
    """Of its compactions."""
    added: int
    """Conversation messages of the turn so far."""


def parked_of(start: Dispatched, since: Sequence[Since]) -> Parked | None:
    """The turn as it waits; None if it does not: it runs, or was interrupted (R174)."""
    standing = [record for record in since if not isinstance(record, Answered)]
    if not standing or not isinstance(standing[-1], Asked):
        return None
    rounds = [record for record in standing if isinstance(record, Responded)]
    answer, asked = rounds[-1], standing[-1]
    results = [
        result.call
        for record in standing
        if isinstance(record, Asked) and record.round == asked.round
        for result in record.results
    ]
    return Parked(
        start,
        answer,
        asked,
        frozenset(results),
        {record.question: record for record in since if isinstance(record, Answered)},
        absorbed_in(since),
        usage_of(since),
        relief_of(since),
        added_by(since),
    )


def absorbed_in(since: Iterable[Since]) -> tuple[MessageId, ...]:
    """The messages that steered into a turn, in order."""
    return tuple(
        [
            steer.message
            for record in since
            if isinstance(record, Returned)
            for steer in record.steers
        ]
    )


def usage_of(since: Iterable[Since]) -> Usage:
    """What a turn's answers used."""
    return sum([record.usage for record in since if isinstance(record, Responded)], Usage())


def relief_of(since: Iterable[Since]) -> Usage:
    """What a turn's compactions used; it is counted in the header with each of them (R190)."""
    return sum([record.usage for record in since if isinstance(record, Compacted)], Usage())


def added_by(since: Iterable[Since]) -> int:
    """The conversation messages of an open turn, its prompt among them."""
    added = 1
    for record in since:
        if isinstance(record, Responded):
            added += 1
        elif isinstance(record, Returned):
            added += len(record.results) + len(record.steers)
        elif isinstance(record, Asked):
            added += len(record.results)
    return added


def open_in(asked: Asked, answers: Iterable[str]) -> tuple[Asking, ...]:
    """The questions that wait for an answer."""
    given = frozenset(answers)
    return tuple([one for one in asked.questions if one.id not in given])


def questions_of(session: SessionId, records: Iterable[AnyRecord]) -> list[Question]:
    """The questions that ``records`` of a session asked, oldest first, each with its answer."""
    questions: dict[str, Question] = {}
    early: dict[str, Answered] = {}
    for record in records:
        match record:
            case Asked(turn=turn, at=at, questions=asked):
                for question in shown(session, turn, at, asked):
                    first = early.pop(question.id, None)
                    questions[question.id] = (
                        question if first is None else settled(question, first.answer, first.at)
                    )
            case Answered(question=name, answer=answer, at=at) if name in questions:
                questions[name] = settled(questions[name], answer, at)
            case Answered(question=name):
                early[name] = record
            case Ended(withdrawn=names, at=at, reason=reason):
                for name in questions.keys() & frozenset(names):
                    questions[name] = settled(questions[name], Withdrawn(reason), at)
            case _:
                pass
    return list(questions.values())
