"""Laws of rebuilding: a request that was is told whole, and from one that never was."""

import pytest
from msgspec import Raw

from greenroom.protocol.composition import (
    composition_digest,
    encode_composition,
    render,
)
from greenroom.protocol.encoding import encode_message
from greenroom.protocol.errors import Missing
from greenroom.protocol.identity import SessionId
from greenroom.protocol.message import AssistantMessage, UserMessage
from greenroom.protocol.note import note
from greenroom.protocol.permission import PRESETS
from greenroom.protocol.projection import Source
from greenroom.protocol.prompt_checkpoint import (
    KeptCheckpoint,
    NamedSections,
    checkpoint_between,
    lean,
)
from greenroom.protocol.rebuild import request_at
from greenroom.protocol.record import (
    Accepted,
    AnyRecord,
    Dispatched,
    Imported,
    NotSent,
    Opened,
    Responded,
    Resumed,
    Returned,
)
from tests.protocol.prompt_samples import composition

SAID = Raw(encode_message(UserMessage("Hi.")))
UNSENT = (
    Accepted(0, "m", SAID, "started", 0, 1),
    NotSent(0, 1, "m", "not_sent", "It is too long.", "over_budget"),
)
SENT = (
    Accepted(0, "n", SAID, "started", 0, 2),
    Dispatched(0, 2, "n", 0, 1, "model", "read-only", "digest", "digest"),
)


@pytest.mark.parametrize(
    ("records", "turn", "told"),
    [
        ((), 1, "There is no turn 1 in this session; there is none yet."),
        (UNSENT, 1, "Turn 1 ended before it sent a request."),
        (UNSENT, 2, "There is no turn 2 in this session; there is 1."),
        ((*UNSENT, *SENT), 3, "There is no turn 3 in this session; there are 2."),
        ((*UNSENT, *SENT), 1, "Turn 1 ended before it sent a request."),
    ],
)
def test_a_request_that_never_was_is_told(
    records: tuple[AnyRecord, ...], turn: int, told: str
) -> None:
    """R196: no such turn is another thing than a turn that sent nothing."""
    with pytest.raises(Missing) as error:
        request_at(records, turn, -1, lambda _: None)
    assert error.value.sentence == told


KEPT = composition(person="ada", person_text="Ada counts.")
STORED = encode_composition(KEPT)
FULL, CAREFUL = (
    render(KEPT, PRESETS.get(name), with_person=True).sections
    for name in ("danger-full-access", "read-only")
)
DUE = note("declared", "[platform note] An hour passed.", contributor="pause@1")


def kept_between(
    before: NamedSections | None, after: NamedSections, count: int
) -> KeptCheckpoint | None:
    """The checkpoint as it is stored with a request."""
    checkpoint = checkpoint_between(before, after, count, 0)
    return None if checkpoint is None else lean(checkpoint, {})


ANSWERED = note("approvals", "[platform note] Approved.")
PARKED = (
    Opened(0, "support", "ada", "danger-full-access"),
    Imported(0, SAID, ordinal=0),
    Accepted(0, "m", SAID, "started", 0, 1, person="ada"),
    Dispatched(
        0,
        1,
        "m",
        1,
        1,
        "m1",
        "danger-full-access",
        composition_digest(STORED),
        "digest",
        checkpoint=kept_between(None, FULL, 1),
        with_person=True,
        notes=(DUE,),
    ),
    Responded(0, 1, 0, 0, Raw(encode_message(AssistantMessage("Hm.")))),
    Resumed(0, 1, "read-only", checkpoint=kept_between(FULL, CAREFUL, 2)),
    Returned(0, 1, 0, (), "digest", notes=(ANSWERED,)),
)


def test_a_request_says_what_it_was_made_of() -> None:
    """R45, R197: origins with turn and contributor, sections, agent, person and session."""
    session = SessionId("default", "ann")
    sent = request_at(PARKED, 1, -1, {composition_digest(STORED): STORED}.get, session)
    assert sent.sources == (
        Source("history", 0),
        Source("note", turn=1, contributor="pause@1"),
        Source("history", 1, turn=1),
        Source("history", 2, turn=1),
        Source("note", turn=1),
    )
    assert (sent.agent, sent.person, sent.session) == ("support", "ada", session)
    assert sent.composition == KEPT
    assert sent.request.system == "\n\n".join(text for _, text in sent.sections)


def test_a_turn_that_was_parked_is_told_with_the_preset_that_each_request_had() -> None:
    """R157, R197: it commits anew when it goes on."""
    blob = {composition_digest(STORED): STORED}.get
    rounds = [request_at(PARKED, 1, number, blob) for number in (0, 1)]
    assert [sent.preset for sent in rounds] == ["danger-full-access", "read-only"]
    assert [sent.sections for sent in rounds] == [FULL, CAREFUL]
