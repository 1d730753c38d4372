"""Laws of what a person is shown: all of it, nothing cut, and nothing that passes for another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.protocol.plugin_difference import Difference, difference
from greenroom.protocol.plugin_telling import told, told_difference, visible
from tests.protocol.plugin_samples import CLOCK, NEWS, SKILL, STANCE, TEXTS, bare, plugin, proposal


def test_a_proposal_is_shown_whole() -> None:
    """R163: text, tools with what they do, placement, priority, budget, reach, hosts and skills."""
    paid = {**CLOCK, "id": "pay", "tool": "pay", "arguments": {"cents": 7}, "about": "The price"}
    stance = {**STANCE, "heading": "Review", "priority": 5, "budget": 90, "framing": "lower"}
    made = proposal(
        plugin(
            contributors=(stance, paid, NEWS, *plugin().manifest.contributors[1:3]),
            tools={"look": "read", "rows": "read", "pay": "write"},
            hosts=("a.example",),
        )
    )
    lines = told(made)
    for line in (
        "plugin reviewer@1",
        "  | A reviewer's stance.",
        "owner: workspace, so it reaches every agent",
        "contributor plugins/reviewer/stance@1: text",
        "  placement agent, priority 5, budget 90 tokens, reach every_turn",
        "  framed as lower: yes",
        "  | Review",
        "  | Challenge premises.",
        "  runs pay, which does more than read, with:",
        '  | {"cents":7}',
        "  | The price",
        "  loads the tools look, rows",
        "  loads the skill plugins/reviewer/review",
        "  and of it the files index.md, more.md",
        "  | What you were given has changed.",
        "  pay: does more than read",
        "  look: only reads",
        "  a.example",
        "skill plugins/reviewer/review",
        "  | Read twice.",
        "  more.md:",
        "  | More.",
    ):
        assert line in lines
    assert lines[-1] == f"digest {made.digest}"


@pytest.mark.parametrize(("owner", "told_of"), [("author", "agents"), ("person", "persons")])
def test_a_strangers_bounds_are_told(owner: str, told_of: str) -> None:
    """R165: whom it reaches, and what it may do at all."""
    made = bare(contributors=({**STANCE, "placement": "person"},))
    [line] = [line for line in told(proposal(made, owner)) if line.startswith("owner:")]  # type: ignore[arg-type]
    assert told_of in line
    assert "what only reads" in line


@given(text=st.text(min_size=1).filter(lambda text: "\0" not in text))
def test_words_of_a_plugin_stand_behind_the_bar(text: str) -> None:
    """R163: none of them can pass for a line of ours, and every one is there."""
    if not text.strip():
        return
    made = proposal(bare(contributors=({**STANCE, "text": text},)))
    lines = told(made)
    shown = [line for line in lines if line.startswith("  | ")][1:]
    assert shown == [f"  | {visible(line)}" for line in text.split("\n")]
    assert all("\n" not in line and "\r" not in line for line in lines)


@pytest.mark.parametrize(
    "sign",
    [
        *("\u200b", "\u202e", "\ufeff", "\u00ad", "\u2060", "\U000e0041", "\x1b", "\r", "\x85"),
        *("\u2028", "\u3164", "\ufe0f", "\U000e0101", "\u00a0", "\u2800", "\u034f", "\x7f"),
    ],
)
def test_what_a_screen_does_not_show_is_spelled_out(sign: str) -> None:
    """R163: a model reads what is hidden from a person, so nothing is hidden."""
    assert visible(f"a{sign}b") == f"a<U+{ord(sign):04X}>b"


def test_what_a_screen_shows_stays_as_it_is() -> None:
    """R163: in every script, and so does what only looks like a sign spelled out."""
    for text in ("Größe", "日本語", "a\tb", "<U+200B>", "e\u0301", "🙂"):
        assert visible(text) == text


def test_a_difference_is_told_with_what_asks_for_more() -> None:
    """R164: short values beside each other, words line by line, names by themselves."""
    long = "\n".join(str(number) for number in range(40))
    before = proposal(plugin(texts={**TEXTS, "review/more.md": long}, hosts=("a.example",)))
    after = proposal(
        plugin(
            "2",
            contributors=({**STANCE, "budget": 7, "placement": "platform"}, CLOCK, NEWS),
            texts={**TEXTS, "review/more.md": long.replace("\n7\n", "\nseven\n")},
            hosts=("b.example",),
            description="Another.",
        )
    )
    lines = told_difference(difference(before, after))
    for line in (
        "plugins/reviewer/stance placement: agent -> platform (asks for more)",
        "plugins/reviewer/stance budget: 1000 -> 7 (asks for no more)",
        "plugins/reviewer/load: gone (asks for no more)",
        "plugins/reviewer/review more.md: changed (asks for more)",
        "  | -7",
        "  | +seven",
        "hosts a.example: gone (asks for no more)",
        "hosts b.example: new (asks for more)",
    ):
        assert line in lines
    assert "  |  39" not in lines
    assert told_difference(Difference()) == ()


def test_words_that_go_are_told_as_gone() -> None:
    """R164: also where to lose them asks for more."""
    before = proposal(bare(contributors=({**STANCE, "heading": "Be kind\u200b"},)))
    lines = told_difference(difference(before, proposal(bare())))
    assert lines == (
        "plugins/reviewer/stance heading: gone (asks for more)",
        "  | Be kind<U+200B>",
    )


def test_an_empty_file_is_told_too() -> None:
    """R163: by its name, with nothing behind the bar."""
    made = proposal(plugin(texts={**TEXTS, "review/empty": ""}))
    lines = told(made)
    assert lines[lines.index("  empty:") + 1] == "  | "
    assert (
        SKILL.count("\n") + 1
        == sum(1 for line in lines[lines.index("  SKILL.md:") + 1 :] if line.startswith("  | ")) - 3
    )
