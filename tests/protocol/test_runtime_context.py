"""Laws of snapshots: pinned for good, anchored where they belong."""

import pytest

from greenroom.protocol.encoding import decode, encode
from greenroom.protocol.errors import BrokenMetadata
from greenroom.protocol.runtime_context import RuntimeContextSnapshot, check_anchors, snapshot_of
from greenroom.protocol.skill import render_block
from greenroom.protocol.wording import CURRENT
from tests.protocol.prompt_samples import skill

DEPLOY, REVIEW = skill("deploy"), skill("review")


def placed(ordinal: int) -> RuntimeContextSnapshot:
    return snapshot_of(ordinal, [DEPLOY], 0, CURRENT)


def legacy(ordinal: int) -> RuntimeContextSnapshot:
    return RuntimeContextSnapshot(ordinal, "Old guidance.", 0)


def test_a_snapshot_holds_the_blocks_in_selection_order() -> None:
    """R33, R49: rendered and stored, whether or not they are shown."""
    snapshot = snapshot_of(4, [REVIEW, DEPLOY], 7, CURRENT)
    blocks = [render_block(skill, CURRENT) for skill in (REVIEW, DEPLOY)]
    assert snapshot.content == "\n\n".join(blocks)
    assert (snapshot.user_turn, snapshot.timestamp, snapshot.placement) == (4, 7, "user")


def test_a_snapshot_comes_back_from_the_store_as_it_was() -> None:
    """R49, P060: revision, body, read-ahead and paths survive whatever happens to the source."""
    pinned = skill("s", "See a.md", {"a.md": b"A", "b": b"B"})
    snapshot = snapshot_of(0, [pinned], 0, CURRENT)
    assert decode(encode(snapshot), RuntimeContextSnapshot) == snapshot
    assert snapshot.skills == (pinned,)


def test_two_picks_of_an_edited_skill_are_two_revisions() -> None:
    """R52: the first snapshot does not change with the source."""
    before, after = skill("s", "Do A."), skill("s", "Do B.")
    first, second = snapshot_of(0, [before], 0, CURRENT), snapshot_of(1, [after], 0, CURRENT)
    assert "Do A." in first.content
    assert "Do B." in second.content
    assert first.skills[0].revision != second.skills[0].revision


def test_kept_skills_share_the_bound_of_a_message() -> None:
    """R39, R200: each was kept with 16 KB of its own; with one message they have 32 KB."""
    big = [skill(f"s{number}", files={"index.md": b"x" * 20_000}) for number in range(3)]
    skills = snapshot_of(0, big, 0, CURRENT).skills
    sizes = [len(skill.reference.text) if skill.reference else 0 for skill in skills]
    assert sizes == [16_384, 16_384, 0]
    assert skills[2].paths == ("index.md",)


@pytest.mark.parametrize(
    "snapshots",
    [
        [],
        [placed(0), placed(1), placed(4)],
        [legacy(0), legacy(0), placed(0), placed(3)],
        [placed(1), legacy(1), legacy(2)],
    ],
)
def test_rising_anchors_are_taken(snapshots: list[RuntimeContextSnapshot]) -> None:
    """R55: strictly rising; version-2 ones may share an anchor."""
    check_anchors(snapshots, users=5)


@pytest.mark.parametrize(
    "snapshots",
    [
        [placed(0), placed(0)],
        [placed(0), legacy(0), placed(0)],
        [placed(1), placed(0)],
        [legacy(1), legacy(0)],
        [legacy(2), placed(1)],
        [placed(5)],
        [placed(-1)],
        [RuntimeContextSnapshot(0, "", 0)],
        [RuntimeContextSnapshot(0, "text", 0, (), "user")],
        [RuntimeContextSnapshot(0, "", 0, (DEPLOY,), "user")],
        [RuntimeContextSnapshot(0, "text", 0, (), "system")],  # type: ignore[arg-type]
    ],
    ids=[
        "twice",
        "twice-around-legacy",
        "falling",
        "falling-legacy",
        "placed-behind",
        "beyond",
        "before",
        "empty-legacy",
        "no-skills",
        "no-content",
        "unknown-placement",
    ],
)
def test_snapshots_that_do_not_fit_are_refused(snapshots: list[RuntimeContextSnapshot]) -> None:
    """R55: out of order, out of range, empty, or of an unknown placement."""
    with pytest.raises(BrokenMetadata):
        check_anchors(snapshots, users=5)
