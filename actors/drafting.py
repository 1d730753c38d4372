"""From a message to what its first request will be: everything before the dispatch commit.

Nothing is committed here, so a refusal leaves the conversation as it was (R80). For an ordinary
message of a conversation that was composed already nothing is awaited and nothing is read.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import msgspec
from msgspec import structs

from greenroom.actors.committing import InForce, commit
from greenroom.actors.conversation import Addition, Conversation, rebuilt
from greenroom.actors.due import NOTHING, Due, may_be_due, notes_due
from greenroom.actors.gateway import Waiting
from greenroom.actors.kept_prompt import Kept, Variant
from greenroom.actors.marks import is_marked
from greenroom.actors.models.port import Capabilities, Model, SessionInfo
from greenroom.actors.opening import Opening, made_runs, run_once
from greenroom.actors.preparing import Composed, compose, counter_of, pin_picks
from greenroom.actors.said import pass_on, said_by
from greenroom.actors.tools import Door, Ticket, Toolbox
from greenroom.actors.withdrawing import withdrawn_from, withdrawn_in
from greenroom.protocol.budget import TokenEstimate, spend_table
from greenroom.protocol.encoding import decode_records
from greenroom.protocol.errors import GreenroomError
from greenroom.protocol.identity import MessageId, TurnId
from greenroom.protocol.lost_prefix import lost_prefix
from greenroom.protocol.message import ToolCall
from greenroom.protocol.permission import Preset
from greenroom.protocol.projection import project_user
from greenroom.protocol.projector import Projector
from greenroom.protocol.prompt_checkpoint import joined
from greenroom.protocol.receipt import End
from greenroom.protocol.record import Dispatched
from greenroom.protocol.request import Messages, ModelRequest
from greenroom.protocol.runtime_context import RuntimeContextSnapshot, snapshot_of
from greenroom.protocol.turn import SkillUse
from greenroom.protocol.wording import wording_of

if TYPE_CHECKING:
    from greenroom.actors.session import SessionActor


class Draft(msgspec.Struct, frozen=True, gc=False):
    """A turn that may be dispatched: what it committed to, and its first request."""

    record: Dispatched
    kept: Kept
    variant: Variant
    model: Model
    in_force: InForce
    box: Toolbox
    info: SessionInfo
    conversation: Conversation
    """The actor's own, or one projected anew because the kept prompt is another."""
    addition: Addition
    blobs: dict[str, bytes]
    withdrawals: int = 0
    """How many of the store's withdrawals of skills it takes into account."""
    recompositions: int = 0
    """The number of the newest of the store's recompositions that it takes into account."""

    @property
    def preset(self) -> Preset:
        """The one that the turn committed to."""
        return self.in_force.commitment.preset

    def tickets(self, calls: Sequence[ToolCall], door: Door) -> list[Ticket]:
        """What becomes of the calls of an answer, under what the turn committed to."""
        declared, commitment = self.kept.declared, self.in_force.commitment
        return [door.decide(call, self.box, commitment, declared) for call in calls]

    def tokens(self, told: Addition | Conversation) -> int:
        """What these messages take in a request (R100)."""
        return tokens_of(told, self.model.capabilities)

    def fits(self, addition: Addition) -> bool:
        """Whether a request with these messages fits the model's window (R100, R105)."""
        return self.variant.budget.fits(self.tokens(addition))

    def spent(self, addition: Addition, why: str = "") -> str:
        """The spend of a request that does not fit, by owner, as a table; ``why`` before (R102)."""
        can = self.model.capabilities
        table = spend_table(
            self.variant.budget,
            self.kept.composition,
            self.variant.system,
            [*self.conversation.messages(), *addition.chunks],
            TokenEstimate(can.bytes_per_token),
            image_tokens=can.image_tokens,
        )
        return f"The request does not fit the model's window. {why}".strip() + f"\n{table}"


def tokens_of(told: Addition | Conversation, can: Capabilities) -> int:
    """What a model counts for so many bytes and images, as it is estimated (R100)."""
    return int(told.size / can.bytes_per_token) + told.images * can.image_tokens


class Refusal(msgspec.Struct, frozen=True, gc=False):
    """Why a turn ends before its dispatch."""

    end: End
    reason: str
    code: str


Drafted: TypeAlias = Draft | Refusal


async def draft_of(actor: "SessionActor", entry: Waiting, turn: TurnId) -> Drafted:
    """Prepare a message's turn; whatever keeps it from being sent is a refusal (R27, R80).

    Whether it fits the window is for the caller to see: there may be room to be made.
    """
    actor.mapped = None
    try:
        return await _drafted(actor, entry, turn)
    except GreenroomError as error:
        return Refusal("not_sent", error.sentence, error.code)
    except BaseException as error:  # noqa: BLE001 - the host's own composer or skill source
        await pass_on(error)
        return Refusal("not_sent", f"It could not be prepared: {said_by(error)}", "not_prepared")


async def _drafted(actor: "SessionActor", entry: Waiting, turn: TurnId) -> Drafted:
    services, submission, header = actor.services, entry.submission, actor.header
    agent = services.agent(header.agent)
    model = services.model(header.model or agent.model)
    info, box = (
        SessionInfo(actor.id, header.agent, submission.person, turn),
        services.door.box(agent),
    )
    kept, conversation, blobs = actor.kept, actor.conversation, _NO_BLOBS
    due = NOTHING
    known, marked = len(services.holds.withdrawn), services.marks.last
    withdrawn = withdrawn_from(actor, known)
    anew = bool(withdrawn) or is_marked(actor)
    if kept is None or anew or kept.composition.model != model.name:
        composed = await _composed(actor, entry, model, info, anew=anew)
        if composed is None:
            return Refusal("interrupted", "What it opens with waits for approval.", "asking")
        kept, blobs = composed.kept, composed.blobs
        if header.messages or kept.opens:
            # Imported ones too, which no kept prompt has sent yet (R48).
            conversation = rebuilt(projected(actor, kept, withdrawn).chunks)
    elif may_be_due(actor, kept):
        due = await notes_due(actor, kept, submission.person, turn)
    snapshot: RuntimeContextSnapshot | None = None
    if submission.picks:
        pinned = await pin_picks(services, submission.picks, kept)
        blobs = {**blobs, **pinned.blobs}
        wording = wording_of(kept.composition.wording)
        now = services.world.now()
        snapshot = snapshot_of(header.users, pinned.skills, now, wording, services.limits)
    now_in_force = commit(actor, kept, [pick.id for pick in submission.picks])
    with_person = submission.person is not None
    variant = kept.under(now_in_force.commitment.preset, with_person=with_person)
    gone = (*withdrawn_in(actor), *withdrawn) if snapshot is not None and known else ()
    body = project_user(submission.body, snapshot, submission.picks, kept.composition, gone)
    addition = conversation.plus((*[bytes(note.body) for note in due.notes], body))
    record = _record(
        actor, entry, turn, kept, variant, addition, snapshot, due=due, in_force=now_in_force
    )
    if withdrawn:
        record = structs.replace(record, withdrawn=withdrawn)
    if record.checkpoint is not None or conversation is not actor.conversation:
        common = parting(actor, kept, variant, [*conversation.messages(), *addition.chunks])
        record = structs.replace(record, common=common)
    if new := now_in_force.blobs(header):
        blobs = {**blobs, **new}
    draft = Draft(
        record,
        kept,
        variant,
        model,
        now_in_force,
        box,
        info,
        conversation,
        addition,
        blobs,
        known,
        marked,
    )
    if addition.images and not model.capabilities.images:
        return Refusal("not_sent", f"The model {model.name} takes no images.", "no_images")
    return draft


async def _composed(
    actor: "SessionActor", entry: Waiting, model: Model, info: SessionInfo, *, anew: bool
) -> Composed | None:
    """The kept prompt of a first turn, whose runs are made then; or for another model (R56, R59).

    None: a run waits for its approval (R215). Another model leaves the opening as it is (R113);
    ``anew`` makes that anew as well (R159, R239).
    """
    services, header, before = actor.services, actor.header, actor.kept
    if before is None:
        message = None if entry.seq is None else entry.submission.message
        return await composed_first(actor, model, info, message)
    if anew:
        ran = made_runs(services.store, actor.id)
        return await compose(
            services, actor.id.tenant, header, actor.instructions, model.name, ran=ran
        )
    opened = before.composition
    return await compose(services, actor.id.tenant, header, actor.instructions, model.name, opened)


async def composed_first(
    actor: "SessionActor", model: Model, info: SessionInfo, message: MessageId | None = None
) -> Composed | None:
    """The kept prompt of a conversation that begins now, whose runs are made then (R56, R146).

    None: some of them wait for their approval, for the sake of ``message`` (R215).

    Raises:
        Busy: they do, and no message can wait for it.
    """
    services = actor.services
    composed = await compose(
        services,
        actor.id.tenant,
        actor.header,
        actor.instructions,
        model.name,
        for_person=info.person is not None,
    )
    box = services.door.box(services.agent(actor.header.agent))
    counter = counter_of(services, model.name)
    made = await run_once(Opening(actor, composed.kept, box, info, counter, message))
    return composed if made else None


def draft_again(actor: "SessionActor", start: Dispatched) -> Draft:
    """What a parked turn goes on with: it commits anew to what is in force now (R157).

    The kept prompt and the model are those it began with.

    Raises:
        UnknownAgent, UnknownModel: the workspace or the host does not have them any more.
        StoreDamaged: what the turn was held to before is not in the store.
    """
    services, kept = actor.services, actor.kept
    assert kept is not None, "a turn that was dispatched has a kept prompt"
    now_in_force = commit(actor, kept)
    person = actor.header.person if start.with_person else None
    return Draft(
        start,
        kept,
        kept.under(now_in_force.commitment.preset, with_person=start.with_person),
        services.model_named(start.model),
        now_in_force,
        services.door.box(services.agent(actor.header.agent)),
        SessionInfo(actor.id, actor.header.agent, person, start.turn),
        actor.conversation,
        actor.conversation.plus(()),
        now_in_force.blobs(actor.header),
    )


_NO_BLOBS: dict[str, bytes] = {}


def _record(
    actor: "SessionActor",
    entry: Waiting,
    turn: TurnId,
    kept: Kept,
    variant: Variant,
    addition: Addition,
    snapshot: RuntimeContextSnapshot | None,
    *,
    due: Due,
    in_force: InForce,
) -> Dispatched:
    """The open turn as it is recorded: what shaped it, and the digest of its first request."""
    header, now = actor.header, actor.services.world.now()
    checkpoint = kept.checkpoint(actor.sent, variant.system.sections, header.messages + 1, now)
    used: tuple[SkillUse, ...] = ()
    if snapshot is not None:
        used = tuple([SkillUse(s.id, s.slug, s.revision, "person") for s in snapshot.skills])
    return Dispatched(
        now,
        turn,
        entry.submission.message,
        header.users,
        1,
        kept.composition.model,
        in_force.commitment.preset.id,
        kept.digest,
        addition.digest.of(variant.frame),
        snapshot,
        checkpoint,
        used,
        entry.submission.person is not None,
        due.notes,
        gates=in_force.digest,
        left_out=due.left_out,
    )


def parting(
    actor: "SessionActor", kept: Kept, variant: Variant, messages: list[bytes]
) -> int | None:
    """Where a request parts from the session's last one, if it does not begin with that (P083)."""
    last, sent = actor.kept, actor.sent
    if last is None or sent is None:
        return None
    told = list(actor.conversation.messages())
    return lost_prefix(
        _request(last, joined(sent), told), _request(kept, variant.system.text, messages)
    )


def _request(kept: Kept, system: str, messages: list[bytes]) -> ModelRequest:
    made, told = kept.composition, Messages(messages, len(messages))
    return ModelRequest(made.model, system, made.tools, told, made.parameters)


def projected(actor: "SessionActor", kept: Kept, withdrawn: Sequence[str] = ()) -> Projector:
    """The conversation as another kept prompt sends it: read back and projected once (R34).

    ``withdrawn`` are revisions that it shows no more from the next request on (R159).
    """
    entries = actor.services.store.read(actor.id)
    records = [record for entry in entries for record in decode_records(entry.records)]
    projector = Projector(kept.composition, kept.composition.model).take(records)
    if withdrawn:
        projector.withdraw(withdrawn)
    return projector
