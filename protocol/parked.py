"""A turn that waits for answers, as its records tell it, and the questions of a session.

Whether a turn is parked follows from its records alone, so it is the same after a restart, and a
turn that was never out of memory goes on exactly like one that was read back (R161, R223).
"""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import msgspec

from greenroom.protocol.encoding import decode_message
from greenroom.protocol.errors import StoreDamaged
from greenroom.protocol.identity import CallId, MessageId, SessionId
from greenroom.protocol.message import AssistantMessage
from greenroom.protocol.question import (
    Asking,
    Question,
    Settlement,
    Withdrawn,
    asking_of,
    question_id,
    settled,
    shown,
)
from greenroom.protocol.receipt import RECALLED
from greenroom.protocol.record import (
    Answered,
    AnyRecord,
    Asked,
    Compacted,
    Dispatched,
    EagerAsked,
    Ended,
    NotSent,
    Recalled,
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
    before: tuple[Asked, ...]
    """What the round asked when it parked before, all of it answered."""
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
    """The turn as it waits; None if it does not: it runs, or was interrupted (R174).

    Raises:
        StoreDamaged: it asks about the calls of an answer that is not among its records.
    """
    standing = [record for record in since if not isinstance(record, Answered)]
    if not standing or not isinstance(standing[-1], Asked):
        return None
    rounds = [record for record in standing if isinstance(record, Responded)]
    if not rounds:
        raise StoreDamaged(f"Turn {start.turn} asks about an answer that it does not have.")
    answer, asked = rounds[-1], standing[-1]
    parks = [each for each in standing if isinstance(each, Asked) and each.round == asked.round]
    return Parked(
        start,
        answer,
        asked,
        tuple(parks[:-1]),
        frozenset([result.call for each in parks for result in each.results]),
        # Backwards, so that the first answer stands.
        {each.question: each for each in reversed(since) if isinstance(each, Answered)},
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
    """The questions that ``records`` of a session asked, oldest first, each with its answer.

    The first answer stands, and with its turn each question ends (R223). One that was answered
    before its call asked it is among them once that call is stored, and was never asked (R224).
    """
    reader = _Reader(session)
    for record in records:
        reader.take(record)
    reader.answered_early()
    return list(reader.questions.values())


class _Reader:
    """Walks the records of a session once, in order."""

    def __init__(self, session: SessionId) -> None:
        self.session = session
        self.questions: dict[str, Question] = {}
        self.open: list[str] = []
        """Those of the open turn."""
        self.early: dict[str, Answered] = {}
        """Answers whose question was not asked so far."""
        self.round: Responded | None = None
        """The open turn's answer whose outcomes are not stored."""

    def take(self, record: AnyRecord) -> None:
        match record:
            case Responded():
                self.round = record
            case Asked():
                self._asked(record)
            case EagerAsked():
                (question,) = shown(self.session, record.turn, record.at, [record.question])
                self.questions[question.id] = question
            case Recalled() | NotSent():
                self._withdrawn(record)
            case Answered(question=name) if name in self.questions:
                self._settle(name, record.answer, record.at)
            case Answered(question=name):
                self.early[name] = record
            case Returned():
                self.answered_early()
                self.round = None
            case Ended(at=at, reason=reason):
                self.answered_early()
                for name in self.open:
                    self._settle(name, Withdrawn(reason), at)
                self.open, self.round = [], None
            case _:
                pass

    def _asked(self, record: Asked) -> None:
        for question in shown(self.session, record.turn, record.at, record.questions):
            self.questions[question.id] = question
            self.open.append(question.id)
            first = self.early.pop(question.id, None)
            if first is not None:
                self._settle(question.id, first.answer, first.at)

    def _withdrawn(self, record: Recalled | NotSent) -> None:
        """What was asked before a turn began, for a message that has none (R215)."""
        reason = RECALLED if isinstance(record, Recalled) else record.reason
        for name in record.withdrawn:
            self._settle(name, Withdrawn(reason), record.at)

    def _settle(self, name: str, answer: Settlement, at: int) -> None:
        question = self.questions[name]
        if question.is_open:
            self.questions[name] = settled(question, answer, at)

    def answered_early(self) -> None:
        """What was answered for calls of the open round that have not asked."""
        if not self.early or self.round is None:
            return
        message = decode_message(self.round.body)
        for call in message.tool_calls if isinstance(message, AssistantMessage) else ():
            name = question_id(self.session, call.id, "result")
            record = self.early.pop(name, None)
            if record is not None:
                asking = asking_of(
                    name, "result", call.id, call.function.name, call.function.arguments
                )
                (question,) = shown(self.session, record.turn, record.at, [asking])
                self.questions[name] = settled(question, record.answer, record.at)
