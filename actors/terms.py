"""What ``find`` answers a session by: whose it is, its labels, and the questions that it asks."""

from collections.abc import Iterable
from typing import Final

from greenroom.protocol.identity import SessionId, session_mark
from greenroom.protocol.question import Asking
from greenroom.protocol.record import Header

ASKS: Final = "asks"
"""The session whose questions have ids that begin so, whether they are open or not."""
WAITING: Final = "waiting"
"""A session with questions: with :data:`ANSWER` any, with :data:`EXPIRY` such as expire (R223)."""
ANSWER: Final = "answer"
EXPIRY: Final = "expiry"


def terms_of(
    session: SessionId, header: Header, asking: Iterable[Asking] = ()
) -> frozenset[tuple[str, str]]:
    """The terms of a session, and of the questions that are open in it."""
    terms = {(ASKS, session_mark(session)), ("agent", header.agent)}
    if header.person is not None:
        terms.add(("person", header.person))
    terms.update((f"label:{name}", value) for name, value in header.labels.items())
    for question in asking:
        terms.add((WAITING, ANSWER))
        if question.expires is not None:
            terms.add((WAITING, EXPIRY))
    return frozenset(terms)
