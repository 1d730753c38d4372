"""Laws of what turns are told as, from records: what each was told and composed with."""

from msgspec import Raw

from greenroom.protocol.account import turns_of
from greenroom.protocol.encoding import encode_message
from greenroom.protocol.message import AssistantMessage
from greenroom.protocol.note import note
from greenroom.protocol.record import AnyRecord, Compacted, Dispatched, Ended, Responded, Returned
from greenroom.protocol.record_parts import SummaryCall
from greenroom.protocol.turn import KeptPromptUse, NoteUse

DUE = note("declared", "[platform note] An hour passed.", contributor="pause@1")
ANSWERED = note("approvals", "[platform note] Approved.")
SAID = Raw(encode_message(AssistantMessage("Done.")))


def dispatched(turn: int, composition: str, **fields: object) -> Dispatched:
    return Dispatched(
        0,
        turn,
        f"m{turn}",
        turn - 1,
        1,
        "m",
        "careful",
        composition,
        f"r{turn}",
        **fields,  # type: ignore[arg-type]
    )


RECORDS: tuple[AnyRecord, ...] = (
    dispatched(1, "a", notes=(DUE,), with_person=True),
    Responded(0, 1, 0, 0, SAID),
    Returned(0, 1, 0, (), "r1-1", notes=(ANSWERED,)),
    Responded(0, 1, 1, 1, SAID),
    Ended(0, 1, "done"),
    dispatched(2, "b"),
)


def test_a_turn_names_the_notes_that_it_was_told_and_from_which_round_on() -> None:
    """R77: by kind and contributor, each with the bytes that are sent."""
    first, second = turns_of(RECORDS, "support")
    assert first.notes == (
        NoteUse(0, "declared", "pause@1", DUE.body),
        NoteUse(1, "approvals", "", ANSWERED.body),
    )
    assert second.notes == ()


def test_a_turn_names_its_kept_prompt_its_requests_and_whether_a_person_was_in_it() -> None:
    """R77: records alone tell it; what the prompt holds is read when it is asked for."""
    first, second = turns_of(RECORDS, "support")
    assert first.prompts == (KeptPromptUse(0, "a"),)
    assert (first.composition, second.composition) == ("a", "b")
    assert (first.with_person, second.with_person) == (True, False)
    assert [call.request for call in first.model_calls] == ["r1", "r1-1"]
    assert (first.attempt, first.model, first.preset, first.agent) == (1, "m", "careful", "support")
    assert second.end is None


def test_a_turn_names_what_a_summary_stands_for_in_its_requests() -> None:
    """R77, R78, R106: one that was made before it, or between two of its rounds."""
    calls = (SummaryCall("s", 2, summary="In short."),)
    records: tuple[AnyRecord, ...] = (
        *RECORDS[:-1],
        Compacted(0, 1, "b", "m", calls),
        dispatched(2, "b"),
        Responded(0, 2, 0, 0, SAID),
        Returned(0, 2, 0, (), ""),
        Compacted(0, 2, "c", "m", calls, turn=2, request="r2-1"),
    )
    first, second = turns_of(records, "support")
    assert [use.summarised_before for use in first.prompts] == [0]
    assert second.prompts == (
        KeptPromptUse(0, "b", summarised_before=1),
        KeptPromptUse(1, "c", summarised_before=2),
    )
