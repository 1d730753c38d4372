"""What became of turns and messages, read from records (R76, R177, R213)."""

from collections.abc import Iterable, Sequence

import msgspec

from greenroom.protocol.encoding import decode_message
from greenroom.protocol.identity import MessageId, TurnId
from greenroom.protocol.message import AssistantMessage
from greenroom.protocol.receipt import RECALLED, Cursor, Outcome, Receipt
from greenroom.protocol.record import (
    Accepted,
    AnyRecord,
    Asked,
    Compacted,
    Dispatched,
    Ended,
    NotSent,
    Recalled,
    Responded,
    Resumed,
    Returned,
)
from greenroom.protocol.record_parts import CallResult, PlatformNote, SummaryCall
from greenroom.protocol.telling import outcome_of_end
from greenroom.protocol.turn import CallRecord, KeptPromptUse, ModelCall, NoteUse, TurnRecord
from greenroom.protocol.usage import Usage


class _Open:
    """A turn while its records are read."""

    def __init__(self, start: Dispatched, agent: str, summarised_before: int) -> None:
        self.start = start
        self.agent = agent
        self.request = start.request
        """The one that waits for its answer; empty: none does."""
        self.round = 0
        self.tools: dict[str, str] = {}
        self.granted: dict[str, str] = {}
        self.calls: list[CallRecord] = []
        self.model_calls: list[ModelCall] = []
        self.absorbed: list[MessageId] = []
        self.usage = Usage()
        self.gates = [start.gates]
        first = KeptPromptUse(0, start.composition, (), start.left_out, summarised_before)
        self.prompts = [first]
        self.notes: list[NoteUse] = []
        self.told(start.notes, 0)

    def take(self, record: AnyRecord) -> None:
        match record:
            case Responded():
                self.responded(record)
            case Asked():
                self.results(record.results)
            case Resumed():
                self.gates.append(record.gates)
            case Returned():
                self.returned(record)
            case Compacted():
                self.compacted(record)
            case Ended():
                self.ended(record)
            case _:
                pass

    def told(self, notes: Iterable[PlatformNote], round_: int) -> None:
        for note in notes:
            body = msgspec.Raw(bytes(note.body))  # apart from the commit that it was read in
            self.notes.append(NoteUse(round_, note.kind, note.contributor, body))

    def responded(self, record: Responded) -> None:
        message = decode_message(record.body)
        assert isinstance(message, AssistantMessage)
        self.tools.update((call.id, call.function.name) for call in message.tool_calls)
        self.granted.update((use.call, use.question) for use in record.granted)
        self.model_calls.append(ModelCall(record.round, record.cause, self.request, record.usage))
        self.request = ""
        self.usage += record.usage

    def returned(self, record: Returned) -> None:
        self.results(record.results)
        self.request, self.round = record.request, record.round + 1
        self.told(record.notes, self.round)
        self.absorbed.extend(steer.message for steer in record.steers)

    def compacted(self, record: Compacted) -> None:
        self.request = record.request or self.request
        self.prompts.append(
            KeptPromptUse(self.round, record.composition, summarised_before=record.before)
        )
        self.summarised(record.calls)

    def summarised(self, calls: Iterable[SummaryCall]) -> None:
        for call in calls:
            self.model_calls.append(ModelCall(self.round, "compaction", call.request, call.usage))
            self.usage += call.usage

    def results(self, results: Sequence[CallResult]) -> None:
        for result in results:
            tool = result.tool or self.tools.get(result.call, "")
            granted = self.granted.get(result.call)
            self.calls.append(CallRecord(result.call, tool, result.state, granted))

    def ended(self, end: Ended) -> None:
        self.results(end.results)
        self.summarised(end.summaries)
        if self.request:
            # A call of the model that brought nothing to store: it failed, or answered nothing.
            spent = _rest_of(end.usage, self.usage)
            self.model_calls.append(ModelCall(self.round, "turn", self.request, spent))

    def record(self, end: Ended | None) -> TurnRecord:
        start = self.start
        return TurnRecord(
            turn=start.turn,
            message=start.message,
            ordinal=start.ordinal,
            attempt=start.attempt,
            agent=self.agent,
            model=start.model,
            preset=start.preset,
            prompts=tuple(self.prompts),
            skills=start.skills,
            calls=tuple(self.calls),
            model_calls=tuple(self.model_calls),
            absorbed=tuple(self.absorbed),
            started=start.at,
            ended=end.at if end else None,
            end=end.end if end else None,
            reason=end.reason if end else "",
            usage=end.usage if end else self.usage,
            gates=tuple(self.gates),
            with_person=start.with_person,
            notes=tuple(self.notes),
        )


def _rest_of(whole: Usage, part: Usage) -> Usage:
    """What of a turn's usage no answer was recorded with."""
    return Usage(
        whole.input - part.input,
        whole.cache_read - part.cache_read,
        whole.cache_write - part.cache_write,
        whole.output - part.output,
        whole.reasoning - part.reasoning,
    )


def turns_of(records: Iterable[AnyRecord], agent: str) -> list[TurnRecord]:
    """The turns that were dispatched, oldest first; the last one may still run."""
    turns: list[TurnRecord] = []
    running: _Open | None = None
    ahead: list[Compacted] = []  # what made room for the next turn
    summarised_before = 0
    for record in records:
        if isinstance(record, Compacted):
            summarised_before = record.before
        if isinstance(record, Dispatched):
            running = _Open(record, agent, summarised_before)
            for one in ahead:
                running.summarised(one.calls if one.turn == record.turn else ())
            ahead.clear()
        elif running is not None:
            running.take(record)
            if isinstance(record, Ended):
                turns.append(running.record(record))
                running = None
        elif isinstance(record, Compacted):
            ahead.append(record)
    if running is not None:
        turns.append(running.record(None))
    return turns


def unsent_in(records: Iterable[AnyRecord], message: MessageId) -> Accepted | None:
    """The message as it was accepted last, if its turn ended before its dispatch (R81)."""
    accepted, refused = None, False
    for record in records:
        match record:
            case Accepted() if record.message == message:
                accepted, refused = record, False
            case NotSent() if record.message == message:
                refused = True
    return accepted if refused else None


def outcome_of(records: Iterable[AnyRecord], message: MessageId) -> Outcome | None:
    """What became of a message: the same answer before and after a restart; None while it waits."""
    turn: TurnId | None = None
    absorbed = False
    found: Outcome | None = None
    for record in records:
        match record:
            case Accepted(message=taken) if taken == message:
                found = None  # sent again: what became of it before is not what will (R81)
            case Dispatched(message=taken) if taken == message:
                turn, found = record.turn, None
            case Returned(steers=steers) if any(s.message == message for s in steers):
                turn, absorbed = record.turn, True
            case Ended() if record.turn == turn:
                found = outcome_of_end(record, absorbed=absorbed)
            case NotSent(message=taken) if taken == message:
                found = outcome_of_refusal(record)
            case Recalled(message=taken) if taken == message:
                found = Outcome(None, "recalled", RECALLED, "", 0, Usage())
            case _:
                pass
    return found


def outcome_of_refusal(record: NotSent) -> Outcome:
    """What a turn that ended before its dispatch means for its message (R80, R81)."""
    return Outcome(record.turn, record.end, record.reason, "", 0, Usage())


def receipt_of(
    records: Iterable[AnyRecord], incarnation: str, number: int, message: MessageId | None = None
) -> Receipt | None:
    """The receipt that a stored acceptance gave, marked as repeated (R177).

    ``message`` None takes the first acceptance of the commit.
    """
    for record in records:
        if isinstance(record, Accepted) and message in (None, record.message):
            return Receipt(
                message=record.message,
                status=record.status,
                position=record.position,
                turn=record.turn,
                repeated=True,
                cursor=Cursor(incarnation, number),
            )
    return None


def repeated(receipt: Receipt) -> Receipt:
    """The same receipt, marked as given before."""
    return msgspec.structs.replace(receipt, repeated=True)
