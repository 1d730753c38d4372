"""What a host and each of its tenants answer: sessions, listings, the feed."""

from collections.abc import AsyncIterable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Unpack

from msgspec import structs

from greenroom.actors.answering import answer_in
from greenroom.actors.border import (
    check_cursor,
    check_filter,
    check_labels,
    check_names,
    check_same,
)
from greenroom.actors.creating import created
from greenroom.actors.finding import summaries_of
from greenroom.actors.handle import Session
from greenroom.actors.holding import count, lift, new_hold, no_hold, place
from greenroom.actors.importing import import_into
from greenroom.actors.listing import Items, Listing
from greenroom.actors.loop import check_loop, checkpoint
from greenroom.actors.marking import mark
from greenroom.actors.questions import open_questions, session_of
from greenroom.actors.reading import summary_of
from greenroom.actors.spending import SpendReport, spend_in, turns_in
from greenroom.actors.subscribers import Feed
from greenroom.protocol.encoding import decode_header
from greenroom.protocol.errors import Busy, Missing
from greenroom.protocol.filter import Which
from greenroom.protocol.header import Header
from greenroom.protocol.hold import Hold, Running
from greenroom.protocol.identity import DEFAULT_TENANT, SessionId, check_name, check_text
from greenroom.protocol.permission import Preset
from greenroom.protocol.question import Answer, Kind, Question
from greenroom.protocol.quota import QuotaState
from greenroom.protocol.receipt import Cursor
from greenroom.protocol.recomposition import Recomposition
from greenroom.protocol.record import Imported, LegacyContext
from greenroom.protocol.state import SessionSummary
from greenroom.protocol.tokens import TokenCounter
from greenroom.protocol.turn import SessionTurn
from greenroom.store.contract import Stored

if TYPE_CHECKING:
    from greenroom.actors.host import Host


class Scope:
    """All sessions of a host, or those of one tenant."""

    def __init__(self, host: "Host", tenant: str | None) -> None:
        if tenant is not None:
            check_name(tenant, "tenant")
        self._host = host
        self._tenant = tenant

    async def session(
        self,
        key: str,
        /,
        *,
        agent: str | None = None,
        person: str | None = None,
        preset: str | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> Session:
        """Open the session of that key, or create it, once, however many ask (R219).

        Args:
            key: its name within the tenant; any script, any length within the bound.
            agent: whose session it is; needed to create it.
            person: who talks; None: nobody in particular.
            preset: the permission preset. For a session that exists this is a switch like any
                other, and is refused while the session is busy (R16).
            labels: kept with a session that is created.

        Raises:
            Missing: there is none, and no agent was named.
            Mismatch: it exists with another agent or person; the message names both.
            UnknownAgent, UnknownPreset: not in the workspace.
        """
        self._host.check_open()
        services = self._host.services
        session = self.id_of(key)
        check_names(services.limits, agent=agent, person=person, preset=preset)
        kept_labels = check_labels(labels, services.limits)
        stored = services.store.look(session)
        if isinstance(stored, Stored):
            header = decode_header(stored.header)
        elif agent is None:
            raise Missing(f"There is no session {session}.", session=str(session))
        else:
            header = await self.create(
                session, agent=agent, person=person, preset=preset, labels=kept_labels
            )
        check_same(session, header, agent, person)
        handle = Session(self._host, session)
        if preset is not None and preset != self._preset_of(session, header):
            if header.open_turn is not None and self._host.live(session) is None:
                what = "was interrupted" if header.parked is None else "is parked"
                raise Busy(f"A turn of the session {session} {what}.", reason=what)
            await handle.set_permission_preset(preset)
        return handle

    def _preset_of(self, session: SessionId, header: Header) -> str:
        actor = self._host.live(session)
        return actor.header.preset if actor is not None else header.preset

    def id_of(self, key: str, /) -> SessionId:
        """The full name of the session of that key. Raises ``InvalidInput``, ``TooLarge``."""
        check_name(key, "session key", self._host.services.limits)
        return SessionId(self._tenant or DEFAULT_TENANT, key)

    async def create(
        self,
        session: SessionId,
        /,
        *,
        agent: str,
        person: str | None = None,
        preset: str | None = None,
        labels: Mapping[str, str] | None = None,
        history: Sequence[Imported | LegacyContext] = (),
    ) -> Header:
        """Make a session, once, however many ask; its header, also if it was there already.

        ``history`` is carried as it is; its messages are the conversation's first (R48).

        Raises:
            UnknownAgent, UnknownPreset: not in the workspace.
            Missing: it was deleted.
            Mismatch: it is there, and a history was to make it.
        """
        self._host.check_open()
        return await created(
            self._host.services,
            session,
            agent=agent,
            person=person,
            preset=preset,
            labels=labels,
            history=history,
        )

    async def import_session(
        self, key: str, lines: AsyncIterable[bytes] | Iterable[bytes], /
    ) -> Session:
        """Make a session of what :meth:`Session.export` told, whole or not at all (R191).

        It goes on as the original would: conversation, turns, usage, requests, kept prompt and
        idempotency keys are as they were, and its next request begins with the same bytes. It is
        stored in one transaction. The feed tells of its first commit; its turns are no news.

        What the original was called decides nothing, with two exceptions, since the keys that
        tools get (``ToolContext.key``) and the ids of questions are made of tenant and session.
        Under the same names a copy that goes on beside its original gives its tools the keys that
        the original gives: import it under another key, or delete the original. Under other names
        the ids of questions that were settled before lead to nothing here, and what they granted
        and no call used is granted no more (P139).

        What this store holds concerns it as any other session, and so does what it withdrew: from
        another store it comes knowing of no withdrawal, so where this one ever withdrew a skill
        that its conversation shows, the next turn shows it no more (R159).

        Args:
            key: the new session's name in this tenant; it must be free.
            lines: in order, each with its newline or without; outside of trio a list or a file.

        Raises:
            Mismatch: there is a session of that key.
            Missing: there was one, which was deleted.
            BadExport: they are not as they were written, or tell no session that can be opened.
            ExportTooNew: a newer greenroom wrote them.
            TooLarge: more than the bounds of ``Limits`` allow.
            UnknownAgent: its agent is not in the workspace.
            StoreFailed: it could not be written; nothing of it is there.
        """
        self._host.check_open()
        session = self.id_of(key)
        await import_into(self._host.services, session, lines)
        return Session(self._host, session)

    def sessions(
        self, *, phase: str | None = None, **which: Unpack[Which]
    ) -> Listing[SessionSummary]:
        """The sessions of this scope that fit; nothing is activated (R219, R239).

        Args:
            phase: only those in this phase.
            which: the parts of a :class:`Filter`, found by an index. Of a revision, skill or
                contributor that is asked for, ``shown_in`` says where it stands.

        Raises:
            InvalidInput, TooLarge: a name or a label that cannot be stored.
        """
        host, services = self._host, self._host.services
        asked = check_filter(services.limits, self._tenant, **which)

        def summary(stored: Stored) -> SessionSummary:
            return summary_of(stored, host.live(stored.session), services)

        def found() -> Items[SessionSummary]:
            agents = services.workspace.agents
            return summaries_of(services.index, asked, summary, agents=agents, phase=phase)

        return Listing(found)

    def presets(self) -> tuple[Preset, ...]:
        """The permission presets to choose from, the strictest first: for a picker (R99)."""
        return tuple(self._host.services.workspace.presets)

    def questions(self, *, kind: Kind | None = None) -> Listing[Question]:
        """What waits for an answer in this scope, oldest first; nothing is activated (R223).

        Args:
            kind: only ``"approval"`` or only ``"result"``.
        """
        services = self._host.services
        return Listing(lambda: open_questions(services.store, self._tenant, kind))

    async def answer(self, question: Question | str, answer: Answer, /) -> Question:
        """Answer a question, from :meth:`questions` or by its id; durable when this returns.

        The first answer stands: who comes later gets the question with that one, also when its
        turn is long over. One that expired was answered by policy. With the last answer of a round
        its turn goes on (R160, R161).

        Returns:
            The question with the answer that it has.

        Raises:
            Missing: no question has that id.
            InvalidInput, TooLarge: it is no answer to a question of that kind, or cannot be stored.
            PendingSave: the end of the turn that asked could not be written; ``flush()`` may.
            StoreUnavailable: it was not kept; the question is as open as before.
            SessionLost, SetAside, HostFull: its session cannot be gone on with here.
        """
        self._host.check_open()
        session = session_of(self._host.services.store, self._tenant, question)
        name = question.id if isinstance(question, Question) else question
        return await answer_in(self._host, session, name, answer)

    async def hold(
        self, *, running: Running = "finish", reason: str, by: str, **which: Unpack[Which]
    ) -> Hold:
        """Hold the sessions of this scope that fit: they start no turn until it is lifted (R159).

        What is sent to them is accepted and waits; settings are refused (``Held``). A session that
        is made or read back later is held like any other, and so is one that shows the skill from
        its next message on. Durable and in force when this returns, over a restart too.

        Args:
            running: turns that run go on to their end, or ``"stop"``: they end at their next
                boundary, behind the results of what was begun.
            reason: why; told to whoever is refused.
            by: who.
            which: the parts of a :class:`Filter`; without any: all. A message that picks a held
                skill waits; of which revision it would be shown is not asked before its turn.

        Returns:
            The hold, with how many sessions it holds and how many turns it is going to stop.

        Raises:
            InvalidInput, TooLarge: a name or text that cannot be kept, or too many holds.
            StoreFailed: it could not be written; nothing is held.
        """
        self._host.check_open()
        services = self._host.services
        limits = services.limits
        asked = check_filter(limits, self._tenant, **which)
        made = new_hold(services.world, limits, asked, running=running, reason=reason, by=by)
        return await place(self._host, made)

    async def lift(
        self, hold: Hold | str, /, *, by: str, reason: str = "", withdrawn: bool = False
    ) -> None:
        """Lift a hold, from :meth:`holds` or by its id; what it held goes on, step by step.

        At most ``Limits.resumed_per_second`` sessions with something to do go on in a second; one
        to which somebody sends a message goes on at once (R239).

        Args:
            hold: which.
            by: who.
            reason: why.
            withdrawn: the skill that it held was wrong. A conversation that shows it is composed
                anew before its next turn, from what stands in the workspace then, and its messages
                show ``[withdrawn]`` where they showed the skill; what is stored stays (R159). What
                a tool call brought of it, or a summary says, stands.

        Raises:
            Missing: this scope has no such hold in force.
            InvalidInput, TooLarge: a name or text that cannot be kept; or no skill was held.
            StoreFailed: it could not be written; it is in force as before.
        """
        self._host.check_open()
        limits = self._host.services.limits
        name = hold.id if isinstance(hold, Hold) else check_name(hold, "hold id", limits)
        check_name(by, "name of who lifts", limits)
        check_text(reason, "reason of a lift", limits.name_bytes_max)
        found = self._host.services.holds.get(name)
        if found is None or self._tenant not in (None, found.tenant):
            raise no_hold(name)
        await lift(self._host, found, by, reason, withdrawn=withdrawn)

    async def recompose(self, *, reason: str, by: str, **which: Unpack[Which]) -> Recomposition:
        """Mark the sessions of this scope that fit: their next turn composes them anew (R239).

        Durable when this returns, and one entry however many they are. Before its next dispatch a
        session that was concerned when it was marked is composed anew, once, from what stands in
        the workspace then; no run of its opening is made again (R113). One that began later, or
        was composed anew meanwhile, is left alone. ``Session.recompose`` does one session now.

        Args:
            reason: why.
            by: who.
            which: the parts of a :class:`Filter`; without any: all.

        Returns:
            What was marked, with how many sessions it concerns.

        Raises:
            InvalidInput, TooLarge: a name or text that cannot be kept, or too many of them stand.
            StoreFailed: it could not be written; no session is marked.
        """
        self._host.check_open()
        services = self._host.services
        limits, marks, world = services.limits, services.marks, services.world
        asked = check_filter(limits, self._tenant, **which)
        made = await mark(services.store, marks, world, limits, asked, reason=reason, by=by)
        return structs.replace(made, sessions=await count(services, made))

    def holds(self) -> Listing[Hold]:
        """The holds of this scope that are in force, oldest first (R239)."""
        services = self._host.services

        def found() -> Iterator[Hold]:
            return (each for each in services.holds.in_force if self._tenant in (None, each.tenant))

        return Listing(found)

    def turns(
        self, *, agent: str | None = None, contributor: str | None = None
    ) -> Listing[SessionTurn]:
        """The turns of all sessions of this scope, as they are on disk; nothing is activated (R78).

        Args:
            agent: only those of its sessions.
            contributor: only those that it shaped: an id for any version, or ``id@version``; of a
                skill its id, or ``id@revision``, bound or picked.
        """
        check_names(self._host.services.limits, agent=agent, contributor=contributor)
        store = self._host.services.store
        return Listing(lambda: turns_in(store, self._tenant, agent, contributor))

    async def spend(
        self, *, agent: str | None = None, counter: TokenCounter | None = None
    ) -> SpendReport:
        """What each version of a contributor spent, and which turns it reached (R78).

        Every session of this scope is read, one after the other: it is no question for a hot path.

        Args:
            agent: only that agent's sessions.
            counter: how tokens are counted; None: by bytes.

        Raises:
            TooLarge: they were shaped by more versions than are reckoned with at once.
        """
        check_loop()
        check_names(self._host.services.limits, agent=agent)
        return await spend_in(self._host.services.store, self._tenant, agent, counter)

    async def quota(self) -> QuotaState | None:
        """What this tenant's quota is, what of it is charged and reserved, and when it renews.

        Of a host itself: that of the tenant that sessions have which are opened there (R233).

        Returns:
            None: it has no quota.

        Raises:
            QuotaFailed: the host's own ``Policy.quota`` failed.
            StoreDamaged: the counts cannot be read.
        """
        self._host.check_open()
        await checkpoint()
        return self._host.services.quotas.state(self._tenant or DEFAULT_TENANT)

    def feed(self, *, after: Cursor | None = None) -> Feed:
        """Every numbered event of this scope, in store order, from ``after`` on (R222).

        Raises:
            Rewound: the cursor is of another incarnation of the store.
        """
        services = self._host.services
        check_cursor(after, services.store)
        return Feed(services.store, services.bell, self._tenant, after)
