"""Laws of playing a trace: what is sent, when, and composed of what."""

from greenroom.actors.bench import Blocks, Compact, Edit, Expire, Switch, recomposed, time_in_front
from tests.actors.bench.scenes import MINUTE, begins, played, prompt


def test_a_turn_sends_a_request_for_each_model_call() -> None:
    """One more than there are tools; the next prompt's holds all that was said."""
    requests, _ = played(
        prompt(text="First", results=(5, 6), answer=7), prompt(MINUTE, text="Next")
    )
    assert [at for at, *_ in requests.sent] == [0, 2, 4, 60]
    assert begins(requests) == [True] * 3
    roles = [chunk[:24] for chunk in requests.sent[-1][-1].pieces[2:]]
    assert [role.split(b'"')[3].decode() for role in roles] == [
        *("user", "assistant", "tool", "assistant", "tool", "assistant", "user"),
    ]


def test_requests_hold_the_system_string_that_greenroom_sends() -> None:
    """The parts that a request is cut into are the whole of it, and nothing else."""
    requests, _ = played(prompt(text="Hello"))
    head = requests.sent[0][-1].head
    assert b"".join(part.data for part in head.parts) == head.tools + head.system
    assert [part.level for part in head.parts] == [
        *("agent", "platform", "agent", "person", "conversation"),
    ]
    for words in ("clerk of a shop", "within 30 days", "Money is in pence", "Ada likes figures"):
        assert words in requests.systems[0]


def test_conversations_are_interleaved() -> None:
    """A turn's later calls come between the lines of others."""
    requests, _ = played(prompt(0, "a", text="Ask", results=(1,)), prompt(1_000, "b", text="Other"))
    assert [at for at, *_ in requests.sent] == [0, 1, 2]
    assert ["Other" in text for text in requests.texts] == [False, True, False]


def test_a_prompt_in_mid_turn_waits_for_its_end() -> None:
    """So does a compaction; neither stands between a call and its result."""
    requests, _ = played(
        prompt(0, text="Ask", results=(1,)),
        Compact(at=500, session="s"),
        prompt(1_000, text="Wait"),
    )
    assert [at for at, *_ in requests.sent] == [0, 2, 4, 4]
    assert "Write a summary" in requests.texts[2]
    assert "Wait" in requests.texts[3]


def test_an_edit_reaches_new_conversations_and_not_the_running_one() -> None:
    """It goes on with what it was composed with, until it is compacted."""  # R60
    edit = Edit(at=1, part="agent", name="clerk", text="You are another clerk.")
    requests, _ = played(
        prompt(0, "a"),
        edit,
        prompt(MINUTE, "a"),
        prompt(2 * MINUTE, "b"),
        Compact(at=3 * MINUTE, session="a"),
        prompt(4 * MINUTE, "a"),
    )
    told = ["another clerk" in system for system in requests.systems]
    assert told == [False, False, True, True, True]


def test_every_part_of_a_workspace_can_be_edited() -> None:
    """A new conversation has the new words."""
    edits = [
        Edit(at=1, part="preamble", text="New preamble."),
        Edit(at=1, part="agent", name="clerk", text="New clerk."),
        Edit(at=1, part="skill", name="skills/refunds", text="New refunds."),
        Edit(at=1, part="person", name="ada", text="New Ada."),
        Edit(at=1, part="instructions", text="New project."),
    ]
    requests, _ = played(*edits, prompt(2))
    for edit in edits:
        assert edit.text in requests.systems[0]


def test_a_skill_is_read_anew_after_its_edit() -> None:
    """Though it was read before."""
    edit = Edit(at=1, part="skill", name="skills/refunds", text="Never refund.")
    requests, _ = played(prompt(0, "a"), edit, prompt(2, "b"))
    assert ["Never refund." in system for system in requests.systems] == [False, True]


def test_recomposing_each_turn_takes_an_edit_at_once() -> None:
    """And sends a beginning that nobody has sent before in this conversation."""
    edit = Edit(at=1, part="agent", name="clerk", text="You are another clerk.")
    requests, _ = played(prompt(0), edit, prompt(MINUTE), contender=recomposed())
    assert "another clerk" in requests.systems[1]


def test_a_switch_moves_nothing_before_the_permissions() -> None:
    """A change of phase reuses the kept prompt whole, tools and all."""  # P073
    requests, _ = played(
        prompt(0, text="Plan"),
        Switch(at=1, session="s", preset="workspace-write"),
        prompt(MINUTE, text="Build"),
    )
    before, after = (sent.head for *_, sent in requests.sent)
    assert before.tools == after.tools
    kept = before.system.index(b"<permissions>")
    assert before.system[:kept] == after.system[:kept]
    assert b"workspace-write" in after.system[kept:]
    assert kept == before.ends["person"] + len(b"\n\n")


def test_a_switch_in_mid_turn_is_for_the_next_one() -> None:
    """A turn keeps the preset that it committed to."""
    requests, _ = played(
        prompt(0, results=(1,)),
        Switch(at=1, session="s", preset="workspace-write"),
        prompt(MINUTE),
    )
    assert ["workspace-write" in system for system in requests.systems] == [False, False, True]


def test_another_model_composes_anew() -> None:
    """And its requests go to that model's caches."""
    requests, _ = played(prompt(0), Switch(at=1, session="s", model="m2"), prompt(MINUTE))
    assert [model for _, _, model, _ in requests.sent] == ["default", "m2"]


def test_compaction_leaves_a_summary_and_the_newest_turn() -> None:
    """The one that asks for the summary is a request too."""
    requests, playing = played(
        prompt(0, text="Oldest"),
        prompt(MINUTE, text="Newest"),
        Compact(at=2 * MINUTE, session="s", summary=20),
        prompt(3 * MINUTE, text="After"),
    )
    *_, asked, after = requests.texts
    assert "Oldest" in asked
    assert "Write a summary" in asked
    assert "Oldest" not in after
    assert after.index("Summary of the conversation") < after.index("Newest") < after.index("After")
    spans = requests.sent[-1][-1].spans
    assert [level for level, _ in spans[-3:]] == ["conversation", "conversation", "message"]
    assert [level.short for level in playing.levels.reports()] == [0] * 5


def test_a_picked_skill_is_shown_with_its_message() -> None:
    """Projected as greenroom does: its body stands there if the prompt lacks it (R37, R38)."""
    requests, _ = played(
        prompt(0, "a", text="Go", picks=("skills/letters",)),
        prompt(0, "b", text="Go", picks=("skills/refunds",)),
    )
    first, second = (sent.pieces[2].decode() for *_, sent in requests.sent)
    assert "Write short letters." in first
    assert "within 30 days" not in second
    assert "Refunds" in second


def test_a_turn_without_a_person_leaves_the_persons_part_off() -> None:
    """In the same conversation too."""
    requests, _ = played(prompt(0), prompt(MINUTE, person=None))
    assert ["Ada likes" in system for system in requests.systems] == [True, False]


def test_tenants_share_nothing() -> None:
    """Neither an edit nor a conversation of one is another's; each has caches of its own."""
    edit = Edit(at=0, tenant="x", part="agent", name="clerk", text="You are theirs.")
    requests, _ = played(
        edit, prompt(1, tenant="x"), prompt(1), Expire(at=2, tenant="x"), prompt(MINUTE)
    )
    assert [tenant for _, tenant, _, _ in requests.sent] == ["x", "default", "default"]
    assert ["theirs" in system for system in requests.systems] == [True, False, False]
    assert requests.cold == ["x"]


def test_the_time_in_a_prompt_is_the_traces() -> None:
    """To the minute."""
    requests, _ = played(prompt(0), prompt(90_000), contender=time_in_front())
    times = [system.partition("UTC")[0] for system in requests.systems]
    assert times == [
        "The current time is 1970-01-01 00:00:00 ",
        "The current time is 1970-01-01 00:01:00 ",
    ]


def test_a_line_of_blocks_is_a_request_as_it_stands() -> None:
    """Equal hashes are equal tokens; the last block may be partial."""
    requests, _ = played(
        Blocks(at=0, length=5, hashes=(1, 2), size=3), Blocks(at=1, length=6, hashes=(1, 3), size=3)
    )
    first, second = (list(sent.tokens) for *_, sent in requests.sent)
    assert (len(first), len(second)) == (5, 6)
    assert first[:3] == second[:3]
    assert first[3] != second[3]


def test_a_conversation_that_has_ended_is_let_go() -> None:
    """What is held does not grow with the trace."""
    _, playing = played(prompt(0, "a"), prompt(0, "b"), prompt(MINUTE, "a"))
    assert playing._live == {}
