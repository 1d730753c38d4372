"""From records to events: what a commit tells. Pure, and the only place that makes events."""

from collections.abc import Iterator, Sequence

from greenroom.protocol.encoding import decode_message
from greenroom.protocol.event import (
    Event,
    MessageAbsorbed,
    MessageAccepted,
    MessageNotSent,
    MessageRecalled,
    ModelSwitched,
    PermissionChanged,
    Replied,
    SessionDeleted,
    SessionOpened,
    SkillsLoaded,
    ToolCalled,
    ToolReturned,
    TurnEnded,
    TurnStarted,
)
from greenroom.protocol.identity import SessionId, TurnId
from greenroom.protocol.message import AssistantMessage, ToolMessage, UserMessage, text_of
from greenroom.protocol.receipt import Cursor, Outcome
from greenroom.protocol.record import (
    Accepted,
    AnyRecord,
    CallResult,
    Deleted,
    Dispatched,
    Ended,
    ModelChanged,
    NotSent,
    Opened,
    PresetChanged,
    Recalled,
    Responded,
    Returned,
)


class Teller:
    """Makes the events of one commit; their cursors count within it."""

    __slots__ = ("_incarnation", "_index", "_number", "_session")

    def __init__(self, session: SessionId, incarnation: str, number: int) -> None:
        self._session = session
        self._incarnation = incarnation
        self._number = number
        self._index = -1

    def _place(self, at: int) -> tuple[SessionId, Cursor, int]:
        self._index += 1
        return self._session, Cursor(self._incarnation, self._number, self._index), at

    def events(self, records: Sequence[AnyRecord]) -> Iterator[Event]:
        """The events of ``records``, in order."""
        for record in records:
            yield from self._of(record)

    def _of(self, record: AnyRecord) -> Iterator[Event]:
        match record:
            case Responded():
                yield from self._responded(record)
            case Returned():
                yield from self._results(record.at, record.turn, record.results)
                for steer in record.steers:
                    session, cursor, at = self._place(record.at)
                    yield MessageAbsorbed(
                        session=session,
                        cursor=cursor,
                        at=at,
                        message=steer.message,
                        turn=record.turn,
                    )
            case Accepted():
                yield self._accepted(record)
            case Dispatched():
                yield from self._dispatched(record)
            case Ended():
                yield from self._results(record.at, record.turn, record.results)
                session, cursor, at = self._place(record.at)
                yield TurnEnded(
                    session=session,
                    cursor=cursor,
                    at=at,
                    turn=record.turn,
                    outcome=outcome_of_end(record),
                )
            case _:
                yield from self._rare(record)

    def _rare(self, record: AnyRecord) -> Iterator[Event]:
        """The events of records that are no part of a turn's usual way."""
        match record:
            case Opened(at=at, agent=agent, person=person, preset=preset):
                session, cursor, at = self._place(at)
                yield SessionOpened(
                    session=session, cursor=cursor, at=at, agent=agent, person=person, preset=preset
                )
            case NotSent(at=at, message=message, turn=turn, reason=reason, code=code):
                session, cursor, at = self._place(at)
                yield MessageNotSent(
                    session=session,
                    cursor=cursor,
                    at=at,
                    message=message,
                    turn=turn,
                    reason=reason,
                    code=code,
                )
            case Recalled(at=at, message=message):
                session, cursor, at = self._place(at)
                yield MessageRecalled(session=session, cursor=cursor, at=at, message=message)
            case PresetChanged(at=at, preset=preset, before=before):
                session, cursor, at = self._place(at)
                yield PermissionChanged(
                    session=session, cursor=cursor, at=at, preset=preset, before=before
                )
            case ModelChanged(at=at, model=model, before=before):
                session, cursor, at = self._place(at)
                yield ModelSwitched(
                    session=session, cursor=cursor, at=at, model=model, before=before
                )
            case Deleted(at=at):
                session, cursor, at = self._place(at)
                yield SessionDeleted(session=session, cursor=cursor, at=at)
            case _:
                return

    def _accepted(self, record: Accepted) -> Event:
        message = decode_message(record.body)
        assert isinstance(message, UserMessage)
        session, cursor, at = self._place(record.at)
        return MessageAccepted(
            session=session,
            cursor=cursor,
            at=at,
            message=record.message,
            content=message.content,
            picks=record.picks,
            by=record.by,
            person=record.person,
        )

    def _dispatched(self, record: Dispatched) -> Iterator[Event]:
        session, cursor, at = self._place(record.at)
        yield TurnStarted(
            session=session,
            cursor=cursor,
            at=at,
            turn=record.turn,
            message=record.message,
            ordinal=record.ordinal,
            model=record.model,
            preset=record.preset,
        )
        picked = tuple(use for use in record.skills if use.source == "person")
        if picked:
            session, cursor, at = self._place(record.at)
            yield SkillsLoaded(
                session=session,
                cursor=cursor,
                at=at,
                turn=record.turn,
                ordinal=record.ordinal,
                skills=picked,
            )

    def _responded(self, record: Responded) -> Iterator[Event]:
        message = decode_message(record.body)
        assert isinstance(message, AssistantMessage)
        session, cursor, at = self._place(record.at)
        yield Replied(
            session=session,
            cursor=cursor,
            at=at,
            turn=record.turn,
            round=record.round,
            block=record.block,
            text=text_of(message.content),
            usage=record.usage,
        )
        for call in message.tool_calls:
            session, cursor, at = self._place(record.at)
            yield ToolCalled(
                session=session,
                cursor=cursor,
                at=at,
                turn=record.turn,
                call=call.id,
                tool=call.function.name,
                arguments=call.function.arguments,
            )

    def _results(
        self, at: int, turn: TurnId, results: Sequence[CallResult]
    ) -> Iterator[ToolReturned]:
        for result in results:
            message = decode_message(result.body)
            assert isinstance(message, ToolMessage)
            session, cursor, at = self._place(at)
            yield ToolReturned(
                session=session,
                cursor=cursor,
                at=at,
                turn=turn,
                call=result.call,
                state=result.state,
                content=message.content,
            )


def outcome_of_end(record: Ended, *, absorbed: bool = False) -> Outcome:
    """What an end record means for a message of its turn (R213)."""
    return Outcome(
        turn=record.turn,
        end=record.end,
        reason=record.reason,
        text=record.text,
        messages=record.messages,
        usage=record.usage,
        absorbed=absorbed,
    )


def events_of(
    session: SessionId, incarnation: str, number: int, records: Sequence[AnyRecord]
) -> list[Event]:
    """All events of one commit."""
    return list(Teller(session, incarnation, number).events(records))
