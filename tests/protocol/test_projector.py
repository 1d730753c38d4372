"""Laws of projecting a history once: a withdrawal shows the same whenever it comes."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from greenroom.protocol.projection import WITHDRAWN, expansion_of, project_user
from greenroom.protocol.projector import Projector
from greenroom.protocol.record import Dispatched
from greenroom.protocol.runtime_context import snapshot_of
from greenroom.protocol.wording import CURRENT
from tests.protocol.histories import IMPORTED, KEPT, MODEL, TURN, Writing
from tests.protocol.prompt_samples import pick, skill, user

DEPLOY = skill("deploy")
GONE = (DEPLOY.revision,)


def written(imported: list[str], turns: list[dict[str, Any]], cut: int | None) -> Writing:
    """A history, compacted before one of its user messages if ``cut`` says so."""
    writing = Writing()
    writing.imported(imported)
    for place, turn in enumerate(turns):
        if place == len(turns) - 1 and cut is not None and writing.users:
            writing.compacted(cut % writing.users)
        writing.turn(turn)
    return writing


@given(IMPORTED, st.lists(TURN, min_size=1, max_size=5), st.none() | st.integers(0, 20))
def test_a_withdrawal_shows_the_same_whenever_it_comes(
    imported: list[str], turns: list[dict[str, Any]], cut: int | None
) -> None:
    """R159, R196: known from the start, or told behind the history, or by its last turn's record:
    the same bytes at the same places, notes, steers, compactions or not."""
    records = written(imported, turns, cut).records
    first, last = (Projector(KEPT, MODEL, mapped=True) for _ in range(2))
    first.withdraw(GONE)
    first.take(records)
    last.take(records).withdraw(GONE)
    assert last.chunks == first.chunks
    assert last.sources == first.sources
    told = [*records]
    newest = max(n for n, record in enumerate(told) if isinstance(record, Dispatched))
    told[newest] = structs.replace(told[newest], withdrawn=GONE)
    by_record = Projector(KEPT, MODEL, mapped=True).take(told)
    assert (by_record.chunks, by_record.sources) == (first.chunks, first.sources)
    plain = Projector(KEPT, MODEL, mapped=True).take(records)
    assert len(plain.chunks) == len(first.chunks)
    differing = [
        n for n, (a, b) in enumerate(zip(plain.chunks, first.chunks, strict=True)) if a != b
    ]
    assert plain.sources is not None
    assert differing == [n for n, source in enumerate(plain.sources) if source.expansion]


def test_a_withdrawn_skill_keeps_its_place_and_loses_its_words() -> None:
    """R159: block and note stay, so that the message still says what was invoked."""
    snapshot = snapshot_of(0, [DEPLOY], 0, CURRENT)
    picks = (pick(DEPLOY),)
    shown = project_user(user("Go."), snapshot, picks, KEPT).decode()
    hidden = project_user(user("Go."), snapshot, picks, KEPT, GONE).decode()
    assert DEPLOY.body in shown
    assert DEPLOY.body not in hidden
    assert WITHDRAWN in hidden
    assert "Go." in hidden
    for words in (path for path in DEPLOY.paths):
        assert words not in hidden
    assert project_user(user("Go."), snapshot, picks, KEPT, ("another",)).decode() == shown
    told = expansion_of(snapshot, KEPT, GONE)
    assert told is not None
    assert told.shown == (False,)


def test_a_revision_that_the_prompt_holds_stands_there() -> None:
    """R37, R159: what was composed with it is for the composition to leave out."""
    held = structs.replace(KEPT, skills=(DEPLOY,))
    snapshot = snapshot_of(0, [DEPLOY], 0, CURRENT)
    once = project_user(user("Go."), snapshot, (pick(DEPLOY),), held)
    assert project_user(user("Go."), snapshot, (pick(DEPLOY),), held, GONE) == once
