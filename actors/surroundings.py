"""What the built-in tools see of the session that calls them (R202)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec
import trio

from greenroom.actors.kept_prompt import Kept
from greenroom.actors.tool import Tool
from greenroom.actors.tools import Toolbox
from greenroom.actors.withdrawing import withdrawn_by
from greenroom.protocol.encoding import decode_records
from greenroom.protocol.event import ToolProgress
from greenroom.protocol.identity import CallId, TurnId
from greenroom.protocol.named_content import results_of
from greenroom.protocol.record import Dispatched
from greenroom.protocol.skill import PinnedSkill, SkillPackage, SkillSummary

if TYPE_CHECKING:
    from greenroom.actors.session import SessionActor

PROGRESS_CHARACTERS_MAX: Final = 2_000


class TurnSurroundings(msgspec.Struct, frozen=True):
    """The session as one turn of it is seen from inside."""

    _actor: "SessionActor"
    _kept: Kept
    _box: Toolbox
    _turn: TurnId

    def tell(self, call: CallId, text: str) -> None:
        """A tool of the turn says how far it is: told to who reads now, while the turn runs."""
        actor, turn = self._actor, self._turn
        shared = actor.services.subscribers.get(actor.id)
        if shared is not None and actor.turn is not None and actor.turn.number == turn:
            shared.tell_progress(ToolProgress(turn, call, text[:PROGRESS_CHARACTERS_MAX]))

    def skills(self) -> tuple[SkillSummary, ...]:
        """The skills that the session's agent and person have now."""
        return self._actor.services.skills_of(self._actor.header)

    def kept_skill(self, skill: str, /) -> PinnedSkill | None:
        """A skill of the kept prompt, or the newest pinned in the conversation."""
        for kept in self._kept.composition.skills:
            if skill in (kept.id, kept.slug, kept.name):
                return kept
        records = self._records()
        gone = withdrawn_by(records)
        for record in reversed(records):
            if isinstance(record, Dispatched) and record.snapshot is not None:
                for pinned in record.snapshot.skills:
                    named = skill in (pinned.id, pinned.slug, pinned.name)
                    if named and pinned.revision not in gone:
                        return pinned
        return None

    def kept_file(self, skill: PinnedSkill, path: str, /) -> bytes | None:
        """A file of exactly that revision, from the store."""
        blob = self._actor.services.store.blob
        manifest = blob(skill.files) if skill.files else None
        if manifest is None:
            return None
        digest = msgspec.json.decode(manifest, type=dict[str, str]).get(path)
        return None if digest is None else blob(digest)

    async def current_skill(self, skill: str, /) -> SkillPackage:
        """A skill read from its source now."""
        services = self._actor.services
        return await trio.to_thread.run_sync(
            services.workspace.read_skill, skill, limiter=services.reading
        )

    def object(self, handle: str, /) -> bytes | None:
        """A spilled result of this session; another session's handle is none of its own (R218)."""
        results = (result for record in self._records() for result in results_of(record))
        if any(result.object == handle for result in results):
            return self._actor.services.store.blob(handle)
        return None

    def on_demand(self) -> Mapping[str, Tool[Any]]:
        """The tools that are loaded first."""
        return self._box.on_demand

    def _records(self) -> list[Any]:
        entries = self._actor.services.store.read(self._actor.id)
        return [record for entry in entries for record in decode_records(entry.records)]
