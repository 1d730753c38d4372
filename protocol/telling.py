"""From records to events: what a commit tells. Pure, and the only place that makes events."""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from greenroom.protocol.encoding import decode_message
from greenroom.protocol.event import (
    ConversationCompacted,
    EagerRunMade,
    Event,
    MessageAbsorbed,
    MessageAccepted,
    MessageNotSent,
    MessageRecalled,
    ModelSwitched,
    PermissionChanged,
    PrefixMoved,
    PromptRecomposed,
    QuestionAsked,
    QuestionSettled,
    Replied,
    SessionDeleted,
    SessionOpened,
    SkillsLoaded,
    TitleChanged,
    ToolCalled,
    ToolReturned,
    TurnEnded,
    TurnStarted,
)
from greenroom.protocol.identity import SessionId, TurnId
from greenroom.protocol.message import AssistantMessage, ToolMessage, UserMessage, text_of
from greenroom.protocol.question import Settlement, Withdrawn, shown
from greenroom.protocol.receipt import RECALLED, Cursor, Outcome
from greenroom.protocol.record import (
    Accepted,
    Answered,
    AnyRecord,
    Asked,
    Compacted,
    Deleted,
    Dispatched,
    EagerAsked,
    EagerRan,
    Ended,
    ModelChanged,
    NotSent,
    Opened,
    PresetChanged,
    Recalled,
    Recomposed,
    Responded,
    Resumed,
    Returned,
    TitleMade,
    TitleSet,
)


class Teller:
    """Makes the events of one commit; their cursors count within it."""

    __slots__ = ("_incarnation", "_number", "_session", "told")

    def __init__(self, session: SessionId, incarnation: str, number: int) -> None:
        self._session = session
        self._incarnation = incarnation
        self._number = number
        self.told: list[Event] = []

    def _next(self) -> Cursor:
        return Cursor(self._incarnation, self._number, len(self.told))

    def take(self, record: AnyRecord) -> None:
        """Tell one record."""
        tell = self._TELLERS.get(type(record))
        if tell is not None:
            tell(self, record)

    def _opened(self, record: Opened) -> None:
        self.told.append(
            SessionOpened(
                self._session,
                self._next(),
                record.at,
                record.agent,
                record.person,
                record.preset,
            )
        )

    def _accepted(self, record: Accepted) -> None:
        message = decode_message(record.body)
        assert isinstance(message, UserMessage)
        self.told.append(
            MessageAccepted(
                self._session,
                self._next(),
                record.at,
                record.message,
                message.content,
                record.picks,
                record.by,
                record.person,
            )
        )

    def _recalled(self, record: Recalled) -> None:
        self.told.append(MessageRecalled(self._session, self._next(), record.at, record.message))
        for question in record.withdrawn:
            # What was asked before a turn began is of none.
            self._settled(record.at, 0, question, Withdrawn(RECALLED))

    def _not_sent(self, record: NotSent) -> None:
        self.told.append(
            MessageNotSent(
                self._session,
                self._next(),
                record.at,
                record.message,
                record.turn,
                record.reason,
                record.code,
            )
        )
        for question in record.withdrawn:
            self._settled(record.at, record.turn, question, Withdrawn(record.reason))

    def _dispatched(self, record: Dispatched) -> None:
        self.told.append(
            TurnStarted(
                self._session,
                self._next(),
                record.at,
                record.turn,
                record.message,
                record.ordinal,
                record.model,
                record.preset,
            )
        )
        self._moved(record)
        picked = tuple([use for use in record.skills if use.source == "person"])
        if picked:
            turn, ordinal = record.turn, record.ordinal
            self.told.append(
                SkillsLoaded(self._session, self._next(), record.at, turn, ordinal, picked)
            )

    def _moved(self, record: Dispatched | Resumed) -> None:
        if record.common is not None:
            self.told.append(
                PrefixMoved(self._session, self._next(), record.at, record.turn, record.common)
            )

    def _responded(self, record: Responded) -> None:
        message = decode_message(record.body)
        assert isinstance(message, AssistantMessage)
        self.told.append(
            Replied(
                self._session,
                self._next(),
                record.at,
                record.turn,
                record.round,
                record.block,
                text_of(message.content),
                record.usage,
            )
        )
        for call in message.tool_calls:
            self.told.append(
                ToolCalled(
                    self._session,
                    self._next(),
                    record.at,
                    record.turn,
                    call.id,
                    call.function.name,
                    call.function.arguments,
                )
            )

    def _returned(self, record: Returned) -> None:
        self._results(record)
        for steer in record.steers:
            self.told.append(
                MessageAbsorbed(self._session, self._next(), record.at, steer.message, record.turn)
            )

    def _ran(self, record: EagerRan) -> None:
        message = decode_message(record.result.body)
        assert isinstance(message, ToolMessage)
        self.told.append(
            EagerRunMade(
                self._session,
                self._next(),
                record.at,
                record.contributor,
                record.result.call,
                record.tool,
                record.result.state,
                message.content,
            )
        )

    def _asked(self, record: Asked) -> None:
        self._results(record)
        for question in shown(self._session, record.turn, record.at, record.questions):
            self.told.append(QuestionAsked(self._session, self._next(), record.at, question))

    def _asked_first(self, record: EagerAsked) -> None:
        (question,) = shown(self._session, record.turn, record.at, [record.question])
        self.told.append(QuestionAsked(self._session, self._next(), record.at, question))

    def _answered(self, record: Answered) -> None:
        self._settled(record.at, record.turn, record.question, record.answer)

    def _settled(self, at: int, turn: TurnId, question: str, answer: Settlement) -> None:
        self.told.append(QuestionSettled(self._session, self._next(), at, turn, question, answer))

    def _results(self, record: Returned | Asked | Ended) -> None:
        for result in record.results:
            message = decode_message(result.body)
            assert isinstance(message, ToolMessage)
            self.told.append(
                ToolReturned(
                    self._session,
                    self._next(),
                    record.at,
                    record.turn,
                    result.call,
                    result.state,
                    message.content,
                )
            )

    def _ended(self, record: Ended) -> None:
        self._results(record)
        for question in record.withdrawn:
            self._settled(record.at, record.turn, question, Withdrawn(record.reason))
        self.told.append(
            TurnEnded(self._session, self._next(), record.at, record.turn, outcome_of_end(record))
        )

    def _preset(self, record: PresetChanged) -> None:
        self.told.append(
            PermissionChanged(self._session, self._next(), record.at, record.preset, record.before)
        )

    def _model(self, record: ModelChanged) -> None:
        self.told.append(
            ModelSwitched(self._session, self._next(), record.at, record.model, record.before)
        )

    def _title_made(self, record: TitleMade) -> None:
        if record.title:
            cursor = self._next()
            self.told.append(
                TitleChanged(self._session, cursor, record.at, record.title, made=True)
            )

    def _title_set(self, record: TitleSet) -> None:
        cursor = self._next()
        self.told.append(TitleChanged(self._session, cursor, record.at, record.title, made=False))

    def _compacted(self, record: Compacted) -> None:
        self.told.append(
            ConversationCompacted(
                self._session,
                self._next(),
                record.at,
                record.turn,
                record.before,
                record.summary,
                record.usage,
            )
        )

    def _recomposed(self, record: Recomposed) -> None:
        composition, model = record.composition, record.model
        self.told.append(
            PromptRecomposed(self._session, self._next(), record.at, composition, model)
        )

    def _deleted(self, record: Deleted) -> None:
        self.told.append(SessionDeleted(self._session, self._next(), record.at))

    _TELLERS: ClassVar[Mapping[type, Callable[..., None]]] = {
        Opened: _opened,
        Accepted: _accepted,
        Recalled: _recalled,
        EagerAsked: _asked_first,
        EagerRan: _ran,
        Dispatched: _dispatched,
        NotSent: _not_sent,
        Responded: _responded,
        Returned: _returned,
        Asked: _asked,
        Answered: _answered,
        Resumed: _moved,
        Ended: _ended,
        PresetChanged: _preset,
        ModelChanged: _model,
        TitleMade: _title_made,
        TitleSet: _title_set,
        Compacted: _compacted,
        Recomposed: _recomposed,
        Deleted: _deleted,
    }
    """What each record tells; a record that is not here tells nothing."""


def outcome_of_end(record: Ended, *, absorbed: bool = False) -> Outcome:
    """What an end record means for a message of its turn (R213)."""
    return Outcome(
        record.turn,
        record.end,
        record.reason,
        record.text,
        record.messages,
        record.usage,
        absorbed,
    )


def events_of(
    session: SessionId, incarnation: str, number: int, records: Sequence[AnyRecord]
) -> list[Event]:
    """All events of one commit, in order."""
    teller = Teller(session, incarnation, number)
    for record in records:
        teller.take(record)
    return teller.told
