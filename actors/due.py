"""The notes that are due before a turn: declared, and their condition holds (R69, R151, R152).

Nothing is composed or read for an ordinary turn. Whether something moved since the kept prompt was
composed is looked at once for each generation of the workspace, and shared by all conversations
that would be composed to the same.
"""

import hashlib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import attrs
import msgspec

from greenroom.actors.kept_prompt import Kept
from greenroom.actors.kept_status import moved_since
from greenroom.actors.preparing import composed_now, counter_of
from greenroom.actors.zones import day_in
from greenroom.protocol.condition import Condition, Since, VersionChanged, holds
from greenroom.protocol.contribution import of_declaration, over_budget
from greenroom.protocol.contributor import Note
from greenroom.protocol.errors import GreenroomError
from greenroom.protocol.left_out import LeftOut
from greenroom.protocol.movement import Movement, told
from greenroom.protocol.note import note
from greenroom.protocol.record_parts import PlatformNote
from greenroom.protocol.tokens import TokenCounter
from greenroom.protocol.wording import wording_of

if TYPE_CHECKING:
    from greenroom.actors.session import SessionActor

NEVER: Final = -1
"""The generation of a workspace that was not looked at yet."""


class Due(msgspec.Struct, frozen=True, gc=False):
    """What is due before a turn."""

    notes: tuple[PlatformNote, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    """What came to more than its budget: it is not told, and the turn record says so (R103)."""


NOTHING: Final = Due()


@attrs.define(eq=False, slots=True)
class Told:
    """What a session's notes depend on, besides the clock."""

    settled: int | None = None
    """When its last turn ended, in milliseconds since 1970 (UTC)."""
    looked: int = NEVER
    """The generation of the workspace with which the kept prompt was compared."""
    behind: Movement | None = None
    """What moved since it was composed; None: nothing did."""
    about: dict[str, str] = attrs.field(factory=dict)
    """By contributor, what its note was last told about."""

    def composed(self, generation: int) -> None:
        """The kept prompt was just composed: it is behind of nothing, and nothing was told."""
        self.looked, self.behind, self.about = generation, None, {}

    def sent(self, notes: Iterable[PlatformNote]) -> None:
        """These notes were told: not again until their condition newly holds (R152)."""
        self.about.update((each.contributor, each.about) for each in notes if each.about)


def may_be_due(actor: "SessionActor", kept: Kept) -> bool:
    """Whether it has to be looked at all: not before an ordinary turn."""
    told = actor.told
    return kept.timed or told.behind is not None or told.looked != actor.services.generation


async def notes_due(actor: "SessionActor", kept: Kept, person: str | None, turn: int) -> Due:
    """The notes that stand before the prompt of a turn, in their order; mostly none."""
    state, services = actor.told, actor.services
    if state.looked != services.generation:
        state.behind = await _behind(actor, kept)
        state.looked = services.generation
    if state.behind is None and not kept.timed:
        return NOTHING
    now = services.world.now()
    moved = frozenset[str]() if state.behind is None else state.behind.ids
    since = Since(state.settled, now, moved)
    due = [
        declared
        for declared in kept.composition.notes
        if (person is not None or declared.reach == "every_turn")
        and holds(declared.condition, since, day_in)
    ]
    new = [(each, _about(each.condition, state.behind)) for each in due]
    new = [(each, about) for each, about in new if state.about.get(each.key, "-") != about]
    if not new:
        return NOTHING
    values = _values(actor, kept, person, turn, now)
    return _made(new, values, kept, counter_of(services, kept.composition.model))


async def _behind(actor: "SessionActor", kept: Kept) -> Movement | None:
    """What the kept prompt is behind of; None: nothing, or nothing that can be known now."""
    try:
        now = await composed_now(
            actor.services,
            actor.id.tenant,
            actor.header,
            actor.instructions,
            kept.composition.model,
        )
    except GreenroomError:
        # The workspace cannot give what it declares: no reason to keep a turn from running.
        return None
    movement = moved_since(actor.services, actor.id, kept.composition, now.composition)
    return None if movement.is_current else movement


def _values(
    actor: "SessionActor", kept: Kept, person: str | None, turn: int, now: int
) -> Mapping[str, str]:
    """What the placeholders of a note stand for."""
    moment = datetime.fromtimestamp(now / 1_000, UTC)
    behind = actor.told.behind
    return {
        "agent": actor.header.agent,
        "person": person or "",
        "session": actor.id.key,
        "turn": str(turn),
        "now": f"{moment:%Y-%m-%d %H:%M} UTC",
        "today": f"{moment:%Y-%m-%d}",
        "moved": "" if behind is None else told(behind, wording_of(kept.composition.wording)),
    }


def _made(
    due: Iterable[tuple[Note, str]], values: Mapping[str, str], kept: Kept, counter: TokenCounter
) -> Due:
    """What is told; what its moment makes longer than its budget is left out whole (R103)."""
    wording = wording_of(kept.composition.wording)
    notes: list[PlatformNote] = []
    left_out: list[LeftOut] = []
    for declared, about in due:
        made = of_declaration(declared, values, counter, wording)
        if made.fits:
            notes.append(note("declared", made.text, contributor=made.key, about=about))
        else:
            left_out.append(over_budget(made))
    return Due(tuple(notes), tuple(left_out))


def _about(condition: Condition, behind: Movement | None) -> str:
    """What a note about a changed version tells of; empty for one that only time makes due."""
    if not isinstance(condition, VersionChanged) or behind is None:
        return ""
    moved = [
        (one.what, one.id, one.after)
        for one in (*behind.added, *behind.removed, *behind.changed)
        if not condition.of or one.id in condition.of
    ]
    return hashlib.sha256(msgspec.json.encode((moved, behind.reordered))).hexdigest()[:16]
