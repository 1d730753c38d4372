"""Laws of the check that requests which share a placement begin alike."""

from collections.abc import Callable

import pytest
from msgspec import structs

from greenroom.actors.bench import (
    Compact,
    Contender,
    LevelReport,
    LevelTooShort,
    Prompt,
    Setting,
    Switch,
    check_levels,
    contender,
    time_at_the_tail,
    time_in_front,
    workload,
)
from greenroom.actors.bench.composing import Composed, Composition, Ingredients, Kept, Section
from greenroom.actors.bench.conversation import four_bytes
from greenroom.actors.bench.levels import shared_pieces
from greenroom.actors.bench.playing import Playing, Scene
from greenroom.protocol.composition import compose
from greenroom.protocol.placement import Placement
from tests.actors.bench.scenes import MINUTE, Requests, played, prompt

LINES = (
    prompt(0, "a"),
    prompt(1, "b", person="ben"),
    prompt(2, "c", agent="judge"),
    prompt(3, "d"),
    prompt(MINUTE, "a"),
    prompt(2 * MINUTE, "a"),
)


def reports(
    one: Contender | None = None, lines: tuple[object, ...] = LINES
) -> dict[str, LevelReport]:
    """The levels of a run by name."""
    _, playing = played(*lines, contender=one)  # type: ignore[arg-type]
    return {report.level: report for report in playing.levels.reports()}


def inserting(
    level: Placement, text: Callable[[Ingredients], str], place: int
) -> Callable[[Ingredients], Composition]:
    """Our composing with a text of its own put in, which says that it stands at ``level``."""

    def composer(ingredients: Ingredients) -> Composition:
        made = compose(ingredients)
        added = Section("added", level, "operator", "added@1", text(ingredients))
        sections = (*made.sections[:place], added, *made.sections[place:])
        return structs.replace(made, sections=sections)

    return composer


def test_ours_has_every_level_in_common_up_to_its_end() -> None:
    """The platform for all, the agent and the person for theirs."""  # R64
    found = reports()
    assert [(level, report.short) for level, report in found.items()] == [
        *(("platform", 0), ("agent", 0), ("person", 0), ("conversation", 0), ("message", 0)),
    ]
    assert [report.groups for report in found.values()] == [1, 2, 3, 2, 2]
    assert all(report.common >= report.size > 0 for report in found.values())
    check_levels("ours", found.values())


def test_a_hundred_sessions_share_each_level_whole() -> None:
    """Of 4 people and 2 agents; no narrower text stands before a wider one."""  # R217 P079 P080
    made = workload(1, conversations=100, turns=2, agents=2, persons=4)

    def arrange(ingredients: Ingredients, setting: Setting) -> Kept:
        del setting
        return Composed(compose(ingredients))

    scene = Scene(made.lines, made.workspace, made.tools, made.extra, four_bytes)
    playing = Playing(scene, arrange, Requests())
    playing.play()
    found = playing.levels.reports()
    sizes = [report.size for report in found]
    assert sizes == sorted(sizes)
    assert all(report.common >= report.size and not report.short for report in found)
    assert len({line.session for line in made.lines if isinstance(line, Prompt)}) == 100
    assert playing.levels.repeated / playing.levels.sent > 0.9


def test_a_person_in_front_of_the_agent_is_found() -> None:
    """A text that varies more narrowly than where it stands, whatever it says of itself."""  # P080
    by_person = contender("mine", inserting("agent", lambda given: f"For {given.person}.", 1))
    found = reports(by_person)
    assert [report.short for report in found.values()] == [0, 1, 0, 0, 0]
    with pytest.raises(LevelTooShort, match=r"level agent is short .*'ada\.\\n") as refused:
        check_levels("mine", found.values())
    common, size = found["agent"].common, found["agent"].size
    assert common < size
    assert refused.value.facts == {"level": "agent", "common": common, "size": size}


def test_a_narrower_text_in_front_of_a_wider_one_is_found() -> None:
    """Though it says honestly where it belongs."""  # P079 P080
    found = reports(contender("mine", inserting("person", lambda given: f"{given.person}!", 0)))
    assert [report.short for report in found.values()] == [1, 1, 0, 0, 0]


def test_the_last_byte_of_a_level_counts() -> None:
    """A text at its very end that varies makes it short."""
    found = reports(contender("mine", inserting("platform", lambda given: given.agent.name, 1)))
    assert found["platform"].short == 1


def test_tools_that_differ_within_an_agent_are_found() -> None:
    """They stand in front of everything."""

    def composer(ingredients: Ingredients) -> Composition:
        tools = b"[%b]" % (ingredients.person or "").encode()
        return structs.replace(compose(ingredients), tools=tools)

    found = reports(contender("mine", composer))
    assert (found["agent"].short, found["agent"].where) == (1, "their tool declarations differ")


def test_time_in_front_leaves_no_level_whole() -> None:
    """The reference case of a volatile prompt."""  # P086
    assert all(report.short for report in reports(time_in_front()).values())


def test_time_at_the_tail_leaves_the_conversation_short() -> None:
    """What stands before it is shared; what stands behind it is never read again."""  # P086
    found = reports(time_at_the_tail())
    assert [report.short > 0 for report in found.values()] == [False, False, False, True, True]


def test_what_the_trace_itself_breaks_is_no_fault_of_the_composer() -> None:
    """A switch, another model and a compaction may move what stands behind them."""
    lines = (
        prompt(0),
        Switch(at=1, session="s", preset="workspace-write"),
        prompt(MINUTE),
        Switch(at=MINUTE, session="s", model="m2"),
        prompt(2 * MINUTE),
        Compact(at=3 * MINUTE, session="s"),
        prompt(4 * MINUTE),
        prompt(5 * MINUTE),
    )
    found = reports(lines=lines)
    assert [report.short for report in found.values()] == [0] * 5
    assert found["message"].groups == 1


def test_common_beginnings_are_counted_in_bytes() -> None:
    """Of texts in pieces, as of texts."""
    assert shared_pieces([b"ab", b"cd"], [b"ab", b"cx"]) == 3
    assert shared_pieces([b"ab"], [b"ab", b"c"]) == 2
