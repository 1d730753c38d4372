"""The open questions of many sessions, read from an index: no session is activated (R223)."""

from collections.abc import Iterator
from typing import Final, get_args

import msgspec

from greenroom.actors.border import check_names
from greenroom.actors.said import plain
from greenroom.actors.terms import ANSWER, ASKS, WAITING
from greenroom.protocol.encoding import decode_header, decode_records
from greenroom.protocol.errors import InvalidInput, Missing, StoreDamaged
from greenroom.protocol.identity import MARK_CHARACTERS, SessionId, check_name, check_text
from greenroom.protocol.limits import Limits
from greenroom.protocol.parked import questions_of
from greenroom.protocol.question import (
    Allow,
    Answer,
    Asking,
    Deny,
    Failure,
    Kind,
    Question,
    Result,
)
from greenroom.protocol.quoting import quoted
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
    try:
        stored = store.look(session)
        if not isinstance(stored, Stored):
            return
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
    """The session that asks, asked, or may come to ask.

    Raises:
        InvalidInput: it is neither a question nor the id of one.
        Missing: no session has a question of that id, or it is another tenant's (R218).
    """
    session: SessionId | None
    if isinstance(question, Question):
        session, name = question.session, question.id
    else:
        name = check_name(question, "question id")
        session = next(store.find(ASKS, name[:MARK_CHARACTERS], tenant=tenant), None)
    if session is None or (tenant is not None and session.tenant != tenant):
        raise no_question(name)
    return session


def no_question(name: str) -> Missing:
    """The same for one that never was and for another tenant's (R218)."""
    sentence = f"There is no question {quoted(name)}."
    return Missing(sentence, way_out="Give the id of one, as the open ones list it.", question=name)


def no_answer(asking: Asking) -> InvalidInput:
    """What answers another kind of question."""
    asks, way_out = _ASKS[asking.kind]
    return InvalidInput(
        f"The call of {asking.tool} {asks}, and that is no answer to it.",
        way_out=way_out,
        what="answer",
    )


_ASKS: Final = {
    "approval": ("asks whether it may run", "Allow it or deny it."),
    "result": ("waits for its result", "Bring the result, or say why none will come."),
}


def check_answer(answer: object, limits: Limits) -> Answer:
    """What somebody answers, as it can be stored.

    Raises:
        InvalidInput, TooLarge: another type, or a text that cannot be kept (R194).
    """
    if type(answer) not in _ANSWERS:
        raise InvalidInput(
            f"An answer is Allow, Deny, Result or Failure, not a {type(answer).__name__}.",
            what="answer",
        )
    assert isinstance(answer, _ANSWERS)
    texts = {}
    for what, text in msgspec.structs.asdict(answer).items():
        if not isinstance(text, str):
            raise InvalidInput(f"The {what} of an answer is a text.", what=what)
        # What a call brings is a result like any other; what is said of it is read with it.
        bound = limits.object_bytes_max if what == "content" else limits.result_bytes_max
        check_text(text, f"{what} of an answer", bound)
        texts[what] = plain(text)
    check_names(limits, name_of_who_answers=texts["by"])
    return msgspec.structs.replace(answer, **texts)
