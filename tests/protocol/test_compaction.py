"""Where a conversation is cut, and what stands for the part before the cut."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from greenroom.protocol.budget import TokenEstimate
from greenroom.protocol.compaction import (
    Pieces,
    TurnStart,
    closing,
    cut_of,
    framed_summary,
    moved_sections,
    piece_of,
    summary_request,
)
from greenroom.protocol.projector import Projector
from greenroom.protocol.record import Dispatched, Imported
from greenroom.protocol.wording import CURRENT
from tests.protocol.histories import KEPT, Writing, assert_paired, written
from tests.protocol.prompt_samples import composition, skill, text

BYTE: TokenEstimate = TokenEstimate(1.0)
FRAME = framed_summary("|", CURRENT).partition(b"|")[0]
PLAIN = {"rounds": [], "pick": False, "note": False, "ended": True, "size": 40}


def sizes(projector: Projector) -> list[int]:
    return [len(chunk) for chunk in projector.chunks]


# --- the cut --------------------------------------------------------------------------------------


@given(written(), st.data())
def test_a_cut_parts_no_call_from_its_result(writing: Writing, data: st.DataObject) -> None:
    """P013, R109, R48: wherever it is made, in any history, as often as it is made."""
    for _ in range(data.draw(st.integers(1, 3))):
        projector = writing.projected()
        if not projector.starts:
            return
        cut = data.draw(st.sampled_from(projector.starts))
        kept = projector.chunks[cut.place :]
        assert_paired(projector.chunks[: cut.place])
        writing.compacted(cut.ordinal)
        again = writing.projected()
        assert again.chunks[0].startswith(FRAME)
        assert again.chunks[1:] == kept
        assert_paired(again.chunks)


@given(written())
def test_a_turn_begins_at_its_first_user_message(writing: Writing) -> None:
    """R109, R50: never at a steer, and with the notes that were made before it."""
    firsts = {r.ordinal for r in writing.records if isinstance(r, Dispatched)}
    firsts |= {
        r.ordinal for r in writing.records if isinstance(r, Imported) and r.ordinal is not None
    }
    projector = writing.projected()
    assert {start.ordinal for start in projector.starts} <= firsts
    for start in projector.starts:
        assert msgspec.json.decode(projector.chunks[start.place])["role"] == "user"
        assert projector.place_of(start.ordinal) == start.place
    noted = [r.ordinal for r in writing.records if isinstance(r, Dispatched) and r.notes]
    assert projector.sources is not None
    at_note = [s.ordinal for s in projector.starts if projector.sources[s.place].origin == "note"]
    assert at_note == noted
    assert projector.place_of(writing.users) == len(projector.chunks)


@given(
    st.lists(st.integers(1, 50), min_size=1, max_size=12),
    st.integers(0, 3),
    st.integers(-20, 300),
)
def test_the_cut_keeps_as_many_newest_turns_as_it_may(
    lengths: list[int], head: int, keep: int
) -> None:
    """R109: the newest in any case, then older ones as long as they fit together."""
    tokens = [5] * head + [1] * sum(lengths)
    starts = [TurnStart(n, head + sum(lengths[:n])) for n in range(len(lengths))]
    cut = cut_of(starts, starts[-1], tokens, keep)
    older = sum(lengths[cut.ordinal : -1])
    assert older <= max(keep, 0)
    if cut.ordinal:
        assert older + lengths[cut.ordinal - 1] > keep


def test_a_turn_to_come_may_be_the_newest() -> None:
    """R109: before its dispatch a turn has nothing in the conversation, and all of it may go."""
    starts = [TurnStart(0, 0), TurnStart(3, 4)]
    assert cut_of(starts, TurnStart(5, 9), [1] * 9, 0) == TurnStart(5, 9)
    assert cut_of(starts, TurnStart(5, 9), [1] * 9, 5) == starts[1]


@given(written(), st.lists(st.integers(0, 4), max_size=4), st.data())
def test_kept_and_summarised_are_all(
    writing: Writing, cuts: list[int], data: st.DataObject
) -> None:
    """P038: over any number of compactions, with turns between them, nothing is in neither."""
    summarised: set[int] = set()
    for back in cuts:
        projector = writing.projected()
        if projector.starts:
            cut = projector.starts[max(0, len(projector.starts) - 1 - back)]
            assert projector.sources is not None
            gone = {s.message for s in projector.sources[: cut.place] if s.message is not None}
            assert not gone & summarised
            summarised |= gone
            writing.compacted(cut.ordinal)
        for _ in range(data.draw(st.integers(0, 2))):
            writing.turn(PLAIN)
    whole = Projector(KEPT, KEPT.model, mapped=True)
    whole.take([r for r in writing.records if type(r).__name__ != "Compacted"])
    left = writing.projected()
    assert whole.sources is not None
    assert left.sources is not None
    kept = {source.message for source in left.sources if source.message is not None}
    everything = {source.message for source in whole.sources if source.message is not None}
    assert not kept & summarised
    assert kept | summarised == everything
    assert [s.origin for s in left.sources].count("compaction") <= 1


# --- a summary and its request --------------------------------------------------------------------


@given(st.text())
def test_a_summary_is_framed_and_nobody_said_it(words: str) -> None:
    """R106, R4: in user position, under the platform's label, whatever is in it."""
    body = msgspec.json.decode(framed_summary(words, CURRENT))
    assert body["role"] == "user"
    assert body["content"].startswith(CURRENT.note_label)
    assert words in body["content"]


def test_a_summary_is_framed_anew_in_each_projection() -> None:
    """R106, R34: an older one too, as what the next compaction is given."""
    writing = Writing()
    for _ in range(3):
        writing.turn(PLAIN)
    writing.compacted(1, "First.")
    assert writing.projected().chunks[0] == framed_summary("First.", CURRENT)
    writing.compacted(2, "Second.")
    first, *rest = writing.projected().chunks
    assert first == framed_summary("Second.", CURRENT)
    assert b"First." not in b"".join(rest)


def test_the_request_says_what_moved() -> None:
    """R107: sections that say something else, and those that are gone; new ones can be seen."""
    before = composition(bound=(skill("a"), skill("b")), extra=(text("money"),))
    after = composition(bound=(skill("a", "Otherwise."), skill("c")), extra=(text("money"),))
    changed, removed = moved_sections(before, after)
    assert (changed, removed) == (("skill:skills/a",), ("skill:skills/b",))
    assert moved_sections(None, after) == moved_sections(after, after) == ((), ())
    last = msgspec.json.decode(closing(changed, removed, CURRENT))["content"]
    assert "changed: skill:skills/a." in last
    assert "removed from the system prompt: skill:skills/b." in last
    plain = msgspec.json.decode(closing((), (), CURRENT))["content"]
    assert plain == CURRENT.summarise


def test_the_request_is_made_of_the_new_composition() -> None:
    """R107, R195: its model, tools and parameters; the part, behind what was summarised already."""
    made = structs.replace(KEPT, tools=b"[1]", parameters=b"{}")
    request = summary_request(made, "system", CURRENT, [b"a", b"b"], so_far="So far.")
    assert (request.model, request.system) == (KEPT.model, "system")
    assert (request.tools, request.parameters) == (b"[1]", b"{}")
    first, *part, last = request.messages
    assert first == framed_summary("So far.", CURRENT)
    assert part == [b"a", b"b"]
    assert last == closing((), (), CURRENT)
    assert summary_request(made, "system", CURRENT, [b"a"]).messages[0] == b"a"


# --- pieces ---------------------------------------------------------------------------------------


@given(written(), st.integers(200, 4_000))
def test_pieces_cover_a_part_and_fit(writing: Writing, room: int) -> None:
    """R210, P013: one behind the other, each whole in itself, none longer than there is room."""
    projector = writing.projected()
    part, turns = projector.chunks, [start.place for start in projector.starts]
    pieces = Pieces(part, turns, BYTE)
    start = 0
    while start < len(part):
        until = pieces.end(start, room)
        if until is None:
            one = piece_of(part, start, start + 1)
            with_result = piece_of(part, start, min(start + 2, len(part)))
            assert max(sum(map(len, one)), sum(map(len, with_result))) > room
            return
        piece = piece_of(part, start, until)
        assert_paired(piece)
        assert sum(map(len, piece)) == pieces.tokens(start, until) <= room
        behind = next((place for place in turns if place > start), len(part))
        if pieces.tokens(start, behind) <= room:
            assert until in (*turns, len(part)), "a turn that fits is not taken apart"
        start = until


@pytest.mark.parametrize("room", [10, 10_000])
def test_a_round_of_many_results_can_be_taken_apart(room: int) -> None:
    """R210: only one message that is too large by itself cannot be told."""
    round_ = {"calls": 3, "steers": 0, "note": False, "asked": 0, "size": 1_000}
    writing = Writing()
    writing.turn({**PLAIN, "rounds": [round_]})
    part = writing.projected().chunks
    pieces = Pieces(part, [0], BYTE)
    if room == 10:
        assert pieces.end(0, room) is None
        return
    user, _, *results, last = part
    assert pieces.end(0, len(user)) == 1
    apart = pieces.end(1, 1_200)
    assert apart == 3
    first, second = piece_of(part, 1, 3), piece_of(part, 3, 4)
    assert first[1:] == results[:1]
    assert [c["id"] for c in msgspec.json.decode(first[0])["tool_calls"]] == ["c1-0-0"]
    assert [c["id"] for c in msgspec.json.decode(second[0])["tool_calls"]] == ["c1-0-1"]
    assert pieces.end(4, 1_200) == 5
    assert piece_of(part, 5, 6) == [last]
    assert piece_of(part, 0, len(part)) == part
