"""Laws of checkpoints: what changed, and the exact string back."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.protocol.encoding import decode, encode
from greenroom.protocol.errors import BrokenMetadata
from greenroom.protocol.prompt_checkpoint import (
    SystemPromptCheckpoint,
    checkpoint_between,
    joined,
    lean,
    replay,
    replay_text,
    whole,
)

A, B, C = ("a", "1"), ("b", "2"), ("c", "3")
Sections = list[tuple[str, str]]

prompts = st.lists(
    st.tuples(st.sampled_from("abcde"), st.text(max_size=3)),
    max_size=5,
    unique_by=lambda section: section[0],
)


def recorded(history: Sequence[Sections]) -> list[SystemPromptCheckpoint]:
    """The checkpoints that requests with these prompts leave."""
    before: Sections | None = None
    checkpoints = []
    for count, after in enumerate(history):
        checkpoint = checkpoint_between(before, after, count, 0)
        if checkpoint is not None:
            checkpoints.append(checkpoint)
        before = after
    return checkpoints


def test_the_first_holds_all_sections() -> None:
    """R71: and the order in which they stand."""
    assert checkpoint_between(None, [A, B], 1, 7) == SystemPromptCheckpoint(
        1, 7, {"a": "1", "b": "2"}, ("a", "b")
    )


def test_an_unchanged_prompt_adds_nothing() -> None:
    """R13, R70, R71: equal sections, in whatever kind of sequence, are no change."""
    assert checkpoint_between([A, B], [A, B], 3, 0) is None
    assert checkpoint_between([A, B], (A, B), 3, 0) is None


def test_only_what_changed_is_held() -> None:
    """R71: a changed text alone leaves the order out."""
    assert checkpoint_between([A, B], [A, ("b", "!")], 3, 0) == SystemPromptCheckpoint(
        3, 0, {"b": "!"}
    )


def test_a_removed_section_is_none() -> None:
    """R71: and the order says what is left."""
    assert checkpoint_between([A, B], [B], 3, 0) == SystemPromptCheckpoint(
        3, 0, {"a": None}, ("b",)
    )


def test_a_changed_order_alone_is_recorded() -> None:
    """R71: with no section in it."""
    assert checkpoint_between([A, B], [B, A], 3, 0) == SystemPromptCheckpoint(3, 0, {}, ("b", "a"))


def test_an_added_section_says_where_it_stands() -> None:
    """R71: in the middle as well as at the end."""
    assert checkpoint_between([A, B], [A, C, B], 3, 0) == SystemPromptCheckpoint(
        3, 0, {"c": "3"}, ("a", "c", "b")
    )


@given(st.lists(prompts, min_size=1, max_size=8))
def test_any_history_is_rebuilt_at_every_request(history: list[Sections]) -> None:
    """R72, P064: replaying up to any request gives the exact string sent with it."""
    for count in range(1, len(history) + 1):
        sent = history[count - 1]
        checkpoints = recorded(history[:count])
        stored = decode(encode(checkpoints), list[SystemPromptCheckpoint])
        assert replay(stored) == tuple(sent)
        assert replay_text(stored) == joined(sent)


@given(st.lists(prompts, min_size=1, max_size=4), st.lists(prompts, min_size=1, max_size=4))
def test_a_fork_goes_on_from_its_parents_checkpoints(
    parent: list[Sections], child: list[Sections]
) -> None:
    """R72: a fork replays the parent's checkpoints and its own as one history."""
    assert replay_text(recorded([*parent, *child])) == joined(child[-1])


def test_nothing_sent_is_nothing_replayed() -> None:
    """R72: before the first request there is no string."""
    assert replay([]) == ()


@pytest.mark.parametrize(
    "checkpoint",
    [
        SystemPromptCheckpoint(1, 0, {"a": "1"}, ("a", "b")),
        SystemPromptCheckpoint(1, 0, {"a": "1", "b": "2"}, ("a",)),
        SystemPromptCheckpoint(1, 0, {"a": "1"}),
    ],
)
def test_checkpoints_that_do_not_fit_are_refused(checkpoint: SystemPromptCheckpoint) -> None:
    """R72: a string that was never sent is never given out as one that was."""
    with pytest.raises(BrokenMetadata):
        replay([checkpoint])


@given(st.lists(prompts, max_size=6), prompts)
def test_what_a_composition_says_is_not_stored_twice(
    history: list[Sections], sections: Sections
) -> None:
    """P107, R71: and it comes back whole from the same composition."""
    kept = dict(sections)
    for checkpoint in recorded(history):
        stored = lean(checkpoint, kept)
        assert whole(stored, kept) == checkpoint
        assert not stored.sections.keys() & set(stored.kept)
        again = [n for n, text in stored.sections.items() if text and kept.get(n) == text]
        assert again == []


def test_a_checkpoint_of_another_composition_is_refused() -> None:
    """R72, R92: a section that is not there is told, and nothing is made up."""
    stored = lean(SystemPromptCheckpoint(1, 0, {"a": "A"}), {"a": "A"})
    with pytest.raises(BrokenMetadata, match="'a'"):
        whole(stored, {"b": "A"})
