"""The open questions of many sessions, read from an index: no session is activated (R223)."""

from collections.abc import Iterator
from typing import Final, get_args

import msgspec

from greenroom.actors.border import check_names
from greenroom.actors.terms import ANSWER, QUESTION, WAITING
from greenroom.protocol.encoding import decode_header, decode_records
from greenroom.protocol.errors import InvalidInput, Missing, StoreDamaged
from greenroom.protocol.identity import SessionId, check_name, check_text
from greenroom.protocol.limits import Limits
from greenroom.protocol.parked import questions_of
from greenroom.protocol.question import Allow, Answer, Deny, Failure, Kind, Question, Result
from greenroom.store.contract import Store, Stored

_ANSWERS: Final = (Allow, Deny, Result, Failure)


def open_questions(
    store: Store, tenant: str | None, kind: Kind | None = None, among: str = ANSWER
) -> list[Question]:
    """What waits for an answer, oldest first.

    ``among`` :data:`EXPIRY` looks only at sessions in which a question expires. A session that
    cannot be read hides no other one.
    """
    if kind is not None and kind not in get_args(Kind):
        raise InvalidInput(f"There are no questions of the kind {kind!r}.", what="kind")
    found = [
        placed
        for session in store.find(WAITING, among, tenant=tenant)
        for placed in _of_session(store, session)
        if kind in (None, placed[1].kind)
    ]
    # By the order of the commits, which a clock does not change (P042).
    return [question for _, question in sorted(found, key=lambda placed: placed[0])]


def _of_session(store: Store, session: SessionId) -> Iterator[tuple[int, Question]]:
    """The open questions of a session, each with the number of the commit that asked it."""
    stored = store.look(session)
    if not isinstance(stored, Stored):
        return
    try:
        parked = decode_header(stored.header).parked
        if parked is None:
            return
        entries = store.read(session, after=parked)
        records = [(entry.number, decode_records(entry.records)) for entry in entries]
    except StoreDamaged:
        return
    asked = {
        question.id: number for number, told in records for question in questions_of(session, told)
    }
    for question in questions_of(session, [record for _, told in records for record in told]):
        if question.is_open:
            yield asked[question.id], question


def session_of(store: Store, tenant: str | None, question: Question | str) -> SessionId:
    """The session that asks.

    Raises:
        InvalidInput: it is neither a question nor the id of one.
        Missing: no open question has that id, or it is another tenant's (R218).
    """
    session: SessionId | None
    if isinstance(question, Question):
        session, name = question.session, question.id
    else:
        name = check_name(question, "question id")
        session = next(store.find(QUESTION, name, tenant=tenant), None)
    if session is None or (tenant is not None and session.tenant != tenant):
        raise Missing(f"There is no open question {name!r}.", question=name)
    return session


def check_answer(answer: object, limits: Limits) -> Answer:
    """What somebody answers, if it can be stored.

    Raises:
        InvalidInput, TooLarge: another type, or a text that cannot be kept (R194).
    """
    if not isinstance(answer, _ANSWERS):
        raise InvalidInput(
            f"An answer is Allow, Deny, Result or Failure, not a {type(answer).__name__}.",
            what="answer",
        )
    check_names(limits, name_of_who_answers=answer.by)
    for what, text in msgspec.structs.asdict(answer).items():
        if not isinstance(text, str):
            raise InvalidInput(f"The {what} of an answer is a text.", what=what)
        check_text(text, f"{what} of an answer", limits.object_bytes_max)
    return answer
