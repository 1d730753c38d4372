"""What follows a round: its outcomes, the steers that it takes, and the request after it.

All of it is one commit. It is prepared here and changes nothing, but for the steers, which are out
of the gateway from here on; whoever does not commit it puts them back (R123).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from greenroom.actors.conversation import Addition
from greenroom.actors.drafting import Draft
from greenroom.actors.gateway import Waiting
from greenroom.actors.holds import stopping
from greenroom.actors.marks import with_loaded
from greenroom.actors.round import Round
from greenroom.actors.settling import Ending
from greenroom.actors.terms import moved_terms
from greenroom.actors.tools import Finished, blobs_of
from greenroom.protocol.budget import images_in
from greenroom.protocol.header import Header
from greenroom.protocol.identity import TurnId
from greenroom.protocol.record import AnyRecord, Returned
from greenroom.protocol.record_parts import Steer
from greenroom.store.contract import KeyEntry

if TYPE_CHECKING:
    from greenroom.actors.session import SessionActor


class Following(msgspec.Struct, frozen=True, gc=False):
    """The commit behind a round, and what it means once it is durable."""

    records: Sequence[AnyRecord]
    addition: Addition
    messages: int
    """Those of the conversation in it: notes are none (R50)."""
    steers: list[Waiting]
    header: Header | None
    """It counts user messages and names skills; mostly it stays as it is stored."""
    blobs: dict[str, bytes]
    terms: frozenset[tuple[str, str]] | None
    is_asked: bool
    """A request follows it; else it does not fit."""

    @property
    def consumed(self) -> tuple[int, ...]:
        """The queue entries that it takes."""
        return tuple([entry.seq for entry in self.steers if entry.seq is not None])

    @property
    def keys(self) -> tuple[KeyEntry, ...]:
        """The keys of steers that it makes durable (R93)."""
        return tuple([key for entry in self.steers if entry.seq is None for key in entry.keys])


def following(
    actor: "SessionActor", draft: Draft, this: Round, turn: TurnId, round_: int, steers_most: int
) -> Following | Ending:
    """Prepare the commit behind a round; or how the turn ends, where no request may follow."""
    limits = actor.services.limits
    if round_ + 1 >= limits.rounds_max:
        reason = f"The turn called the model {round_ + 1} times, its bound."
        return Ending("failed", reason, "rounds")
    if actor.services.holds.in_force and (hold := stopping(actor)):
        return Ending("cancelled", f"Stopped by a hold of {hold.by}: {hold.reason}", "held")
    finished = this.finished(actor.services.door)
    results = [] if this.answer_saved else [this.answer.body]
    results += [bytes(one.result.body) for one in finished]
    said = len(results)
    results += [bytes(note.body) for note in this.notes]
    steers = _steers_taken(actor, draft, steers_most)
    addition = actor.conversation.plus(results + [entry.submission.body for entry in steers])
    while steers and not draft.fits(addition):
        # A steer must not end the turn that it comes into: it waits, to be a prompt of its own.
        actor.gateway.put_back([steers.pop()])
        addition = actor.conversation.plus(results + [entry.submission.body for entry in steers])
    # What does not fit is no request: the results are kept, and room is made for them (R89).
    is_asked = draft.fits(addition)
    request = addition.digest.of(draft.variant.frame) if is_asked else ""
    header, outcomes = actor.header, tuple([one.result for one in finished])
    record = Returned(
        actor.services.world.now(),
        turn,
        round_,
        outcomes,
        request,
        tuple([Steer(e.submission.message, header.users + n) for n, e in enumerate(steers)]),
        this.notes,
    )
    records: list[AnyRecord] = [record] if this.answer_saved else [this.answer.record, record]
    unstored = [entry for entry in steers if entry.seq is None]
    records[:0] = [entry.acceptance("steered", turn, record.at) for entry in unstored]
    terms = None
    after = with_loaded(actor, header, outcomes)
    if after is not header:
        terms = moved_terms(actor, after, actor.kept)
    if steers:
        after = structs.replace(after, users=after.users + len(steers))
    return Following(
        records,
        addition,
        said + len(steers),
        steers,
        None if after is header else after,
        _blobs_of(finished, unstored),
        terms,
        is_asked,
    )


def _steers_taken(actor: "SessionActor", draft: Draft, most: int) -> list[Waiting]:
    """The messages that steer in at this boundary (R116).

    Where the model takes no images, one that has them waits, with all behind it, to be a prompt of
    its own: there it is refused, and the conversation stays one that can be sent.
    """
    steers = actor.gateway.take_steers(most)
    if not draft.model.capabilities.images:
        with_images = [images_in(entry.submission.body) > 0 for entry in steers]
        if any(with_images):
            first = with_images.index(True)
            actor.gateway.put_back(steers[first:])
            return steers[:first]
    return steers


def _blobs_of(finished: Sequence[Finished], unstored: Sequence[Waiting]) -> dict[str, bytes]:
    """What a round stores by content: long results, and the images of steers it makes durable."""
    blobs = blobs_of(finished)
    for entry in unstored:
        blobs.update(entry.blobs)
    return blobs
