"""What a compaction is to do, before anything of it is done.

Contributors are composed first, as they stand now (R58, R107); then the conversation is projected
against the new composition, and cut. Most conversations have nothing to compact, which is found
here, before a model is called (P092).
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec
from msgspec import structs

from greenroom.actors.committing import preset_now
from greenroom.actors.conversation import Conversation, rebuilt
from greenroom.actors.drafting import projected, tokens_of
from greenroom.actors.kept_prompt import Variant
from greenroom.actors.models.port import Model, SessionInfo
from greenroom.actors.opening import made_runs
from greenroom.actors.preparing import Composed, compose
from greenroom.actors.quotas import Bill
from greenroom.actors.summarising import Part, Summariser, named
from greenroom.actors.withdrawing import withdrawn_from
from greenroom.protocol.budget import TokenEstimate, message_tokens
from greenroom.protocol.compaction import (
    KEPT_SHARE,
    TurnStart,
    cut_of,
    framed_summary,
    moved_sections,
)
from greenroom.protocol.errors import OverBudget
from greenroom.protocol.header import Header
from greenroom.protocol.identity import TurnId
from greenroom.protocol.projector import Projector
from greenroom.protocol.record import Compacted
from greenroom.protocol.record_parts import SummaryCall
from greenroom.protocol.request import Messages
from greenroom.protocol.wording import wording_of

if TYPE_CHECKING:
    from greenroom.actors.session import SessionActor

Why: TypeAlias = Literal["asked", "pressure", "no_room"]
"""Somebody asked for it; the window fills; or a request does not fit without it."""


class Wanted(msgspec.Struct, frozen=True, gc=False):
    """What a compaction is for."""

    why: Why
    model: Model
    info: SessionInfo
    with_person: bool
    newest: int | None = None
    """Ordinal of the first message of the turn that is kept whole; None: of the newest one."""
    behind: tuple[bytes, ...] = ()
    """What follows the conversation in the next request."""
    measured: int | None = None
    """Tokens of that request as it would be without a compaction; None: as it was last sent."""
    composed: Composed | None = None
    """What was composed already for that request."""
    withdrawals: int | None = None
    """How many withdrawals of the store it was composed behind; None: behind all of them."""


class Plan(msgspec.Struct, frozen=True, gc=False):
    """A compaction that has something to do."""

    wanted: Wanted
    composed: Composed
    part: Part
    opening: Sequence[bytes]
    """What every conversation of the composition begins with: it stays in front (R113)."""
    cut: int
    """Ordinal of the user message before which the conversation is cut."""
    rest: Sequence[bytes]
    """What stays whole, projected against the new composition."""
    measured: int
    """Tokens of the request with the old prompt and no summary (R109)."""
    withdrawn: tuple[str, ...]
    """Revisions of skills that neither summary nor request shows any more (R159)."""
    withdrawals: int
    """How many withdrawals of the store that comes from."""

    def conversation(self, summary: str) -> Conversation:
        """What is sent from now on: the summary, framed, and what stays whole (R106)."""
        return rebuilt([*self.opening, framed_summary(summary, self.part.wording), *self.rest])

    def after(self, summary: str) -> int:
        """Tokens of the request with the new prompt and the summary."""
        told = self.conversation(summary).plus(self.wanted.behind)
        return self.part.variant.budget.fixed + tokens_of(told, self.wanted.model.capabilities)

    def serves(self, summary: str) -> bool:
        """Whether the request is smaller for it, and fits where it has to (R109)."""
        after, budget = self.after(summary), self.part.variant.budget
        fits = self.wanted.why != "no_room" or budget.fits(after - budget.fixed)
        return after < self.measured and fits

    async def made(
        self, actor: "SessionActor", calls: list[SummaryCall], bill: Bill | None
    ) -> "Made":
        """Ask for the summary; ``calls`` gets what was asked, whatever becomes of it.

        Raises:
            ModelFailed, OverBudget, OverQuota, QuotaFailed: see :meth:`Summariser.run`.
        """
        summary = await Summariser(actor.services, self.part, self.serves, calls, bill).run()
        return Made(self, summary, self.conversation(summary), tuple(calls))


class Made(msgspec.Struct, frozen=True, gc=False):
    """A compaction whose summary is there, and nothing of which is committed."""

    plan: Plan
    summary: str
    conversation: Conversation
    calls: tuple[SummaryCall, ...]

    def record(
        self, actor: "SessionActor", *, messages: int, turn: TurnId | None = None, request: str = ""
    ) -> Compacted:
        """What is committed of it (R108).

        Args:
            actor: whose it is.
            messages: those of the conversation so far.
            turn: for which it was made.
            request: digest of the request that follows in the same turn.
        """
        part, now = self.plan.part, actor.services.world.now()
        sections = part.variant.system.sections
        return Compacted(
            now,
            self.plan.cut,
            part.kept.digest,
            part.kept.composition.model,
            self.calls,
            part.changed,
            part.removed,
            turn,
            request,
            part.kept.checkpoint(actor.sent, sections, messages, now),
            self.plan.withdrawn,
        )

    def header(self, header: Header, record: Compacted) -> Header:
        """The header behind it; its calls are counted from here on (R190)."""
        return structs.replace(
            header,
            composition=record.composition,
            usage=header.usage + record.usage,
            withdrawals=self.plan.withdrawals,
            recompositions=self.plan.composed.recompositions,
            recompose=False,
        )

    def adopt(self, actor: "SessionActor") -> None:
        """It is durable, or kept until it is: the next request goes by it."""
        actor.kept, actor.conversation = self.plan.part.kept, self.conversation
        actor.told.composed(actor.services.generation)


async def planned(actor: "SessionActor", wanted: Wanted) -> Plan | Composed:
    """Compose, project and cut; no plan: there is nothing that a summary could make shorter.

    Raises:
        OverBudget: what stays whole does not fit by itself; its largest message is named (P092).
        GreenroomError: it cannot be composed.
    """
    withdrawals = wanted.withdrawals
    if withdrawals is None:
        withdrawals = len(actor.services.holds.withdrawn)
    withdrawn = withdrawn_from(actor, withdrawals)
    composed = wanted.composed or await compose(
        actor.services,
        actor.id.tenant,
        actor.header,
        actor.instructions,
        wanted.model.name,
        ran=made_runs(actor.services.store, actor.id),
    )
    kept = composed.kept
    variant = kept.under(preset_now(actor), with_person=wanted.with_person)
    projector = projected(actor, kept, withdrawn)
    cut = _cut(wanted, variant, projector, framed_summary("", wording_of(kept.composition.wording)))
    if cut is None:
        return composed
    chunks, first = projector.chunks, projector.opening
    old = actor.kept
    changed, removed = moved_sections(None if old is None else old.composition, kept.composition)
    part = Part(
        kept,
        variant,
        wanted.model,
        wanted.info,
        Messages(chunks[first:], cut.place - first),
        [start.place - first for start in projector.starts if start.place < cut.place],
        changed,
        removed,
    )
    measured = wanted.measured
    if measured is None:
        measured = _measured(actor, wanted, variant, chunks)
    rest = chunks[cut.place :]
    return Plan(
        wanted,
        composed,
        part,
        chunks[:first],
        cut.ordinal,
        rest,
        measured,
        withdrawn,
        withdrawals,
    )


def _measured(
    actor: "SessionActor", wanted: Wanted, variant: Variant, chunks: Sequence[bytes]
) -> int:
    """Tokens of the conversation under the prompt that it was last sent with (R109)."""
    old, can = actor.kept, wanted.model.capabilities
    if old is None or old.composition.model != wanted.model.name:
        return variant.budget.fixed + tokens_of(rebuilt(chunks), can)
    under = old.under(preset_now(actor), with_person=wanted.with_person)
    return under.budget.fixed + tokens_of(actor.conversation, can)


def _cut(wanted: Wanted, variant: Variant, projector: Projector, frame: bytes) -> TurnStart | None:
    """Where to cut, so that what is before the cut is worth a summary (R109)."""
    starts, can = projector.starts, wanted.model.capabilities
    counter = TokenEstimate(can.bytes_per_token)

    def one(body: bytes) -> int:
        return message_tokens(body, counter, can.image_tokens)

    if wanted.newest is not None:
        newest = TurnStart(wanted.newest, projector.place_of(wanted.newest))
    elif starts:
        newest = starts[-1]
    else:
        return None
    tokens, first = list(map(one, projector.chunks)), projector.opening
    room, least = variant.budget.room - sum(tokens[:first]), one(frame)
    whole = sum(tokens[newest.place :]) + sum(map(one, wanted.behind))
    keep = int(min(sum(tokens), room) * KEPT_SHARE)
    if wanted.why == "no_room":
        if whole + least > room:
            raise _too_large([*projector.chunks[newest.place :], *wanted.behind], one, room)
        keep = min(keep, room - whole - least - variant.budget.reserve)
    cut = cut_of(starts, newest, tokens, keep)
    part = sum(tokens[first : cut.place])
    old = tokens[first] if projector.begins_with_summary else 0
    worth = {"asked": part > old, "pressure": part >= 2 * old, "no_room": True}
    return cut if part > least and worth[wanted.why] else None


def _too_large(turn: Sequence[bytes], one: Callable[[bytes], int], room: int) -> OverBudget:
    """A turn that is kept whole and does not fit, with what is largest in it (R210, P092)."""
    whole, largest = sum(map(one, turn)), max(turn, key=one)
    return OverBudget(
        f"The newest turn takes {whole:,} tokens by itself, and there is room for {room:,}. The "
        f"largest of it is {named(largest)}, with {one(largest):,}.",
        needed=whole,
        room=room,
        largest=named(largest),
    )
