"""``greenroom chat``: one person talks with one agent."""

import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import attrs
import trio
from rich.console import Console

from greenroom.actors import Host, Model, Session, Workspace, open_host
from greenroom.actors.cli.chat_input import TypedLines
from greenroom.actors.cli.chat_lines import HELP, Order, Say, read_line
from greenroom.actors.cli.chat_view import View
from greenroom.actors.cli.exits import FAILED, INTERRUPTED
from greenroom.actors.cli.faults import causes_of, said
from greenroom.actors.cli.stores import open_store
from greenroom.actors.cli.words import counted, plain, short
from greenroom.protocol.errors import GreenroomError, Missing
from greenroom.protocol.event import (
    MessageAbsorbed,
    MessageNotSent,
    QuestionAsked,
    TurnEnded,
    TurnStarted,
)
from greenroom.protocol.phase import Phase
from greenroom.protocol.question import Allow, Deny, Question
from greenroom.protocol.receipt import Cursor, Receipt

DESCRIPTION_SHOWN: Final = 90
NOBODY: Final = "Nobody could be asked: the words came from no terminal."
_YES: Final = frozenset({"y", "yes"})
_NO: Final = frozenset({"", "n", "no"})
PERSON: Final = "user"
"""Who talks in a new conversation unless it is said: without a person nothing that a workspace says
to people, its project instructions among it, would reach the conversation."""


@attrs.frozen(kw_only=True)
class Whom:
    """Which conversation, and whose."""

    key: str
    agent: str | None
    person: str | None
    preset: str | None
    again: str
    """The command that goes on with it."""


async def chat(
    console: Console, workspace: Workspace, model: Model, store: Path, whom: Whom
) -> int:
    """Talk until the input ends or the person leaves; the exit code says how it ended."""
    keys = {"default", *(agent.model for agent in workspace.agents.values())}
    models = dict.fromkeys(keys, model)
    for warning in workspace.warnings:
        console.print(plain(f"warning: {warning}"), style="dim")
    async with (
        open_store(store) as kept,
        open_host(kept, workspace=workspace, models=models) as host,
    ):
        session = await _opened(host, workspace, whom)
        return await Chat(console, host, session, whom.again).run()


async def _opened(host: Host, workspace: Workspace, whom: Whom) -> Session:
    """The session that is there, or a new one of the agent that was named, else of the first."""
    agent, person = whom.agent, whom.person
    try:
        await host.session(whom.key)
    except Missing:
        agent = min(workspace.agents) if agent is None else agent
        person = PERSON if person is None else person
    return await host.session(whom.key, agent=agent, person=person, preset=whom.preset)


@attrs.define(eq=False)
class Chat:
    """One person at one session."""

    console: Console
    host: Host
    session: Session
    again: str
    """The command that goes on with the conversation."""
    view: View = attrs.field(init=False)
    typed: TypedLines = attrs.field(init=False)
    _answering: bool = False
    _left: bool = False
    _unanswered: bool = False
    """Whether the last message was not sent, or its turn did not end as done."""
    _scope: trio.CancelScope = attrs.field(factory=trio.CancelScope)
    _one_at_a_time: trio.Lock = attrs.field(factory=trio.Lock)
    """A person is asked one thing after the other."""

    def __attrs_post_init__(self) -> None:
        self.view = View(self.console)
        self.typed = TypedLines(self._ask_for_line)

    async def run(self) -> int:
        """Greet, then take lines.

        130 if Ctrl-C at the prompt ended it; 1 if lines were piped and the last was not answered.
        """
        await self._greet()
        async with trio.open_nursery() as nursery:
            await nursery.start(self._interrupts)
            nursery.start_soon(self.typed.read)
            with self._scope:
                await self._waiting()
                await self._lines()
            nursery.cancel_scope.cancel()
        if self._left:
            self.console.print()
        # Never wrapped by us: it is to be copied as one line.
        self.console.print(plain(f"to go on: {self.again}"), style="dim")
        if self._left:
            return INTERRUPTED
        return FAILED if self._unanswered and not sys.stdin.isatty() else 0

    async def _greet(self) -> None:
        state = await self.session.state()
        who = f" with {state.person}" if state.person is not None else ""
        self.console.print(plain(f"{state.agent}{who}"), style="bold")
        said = counted(len(state.messages), "message") if state.messages else "new"
        self.view.note(f"session {state.session} ({said}) · preset {state.preset} · /help")

    # --- Ctrl-C -------------------------------------------------------------------------------

    async def _interrupts(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        with trio.open_signal_receiver(signal.SIGINT) as arriving:
            task_status.started()
            async for _ in arriving:
                # A turn that is ending already cannot be cancelled again: then leave.
                if not (self._answering and await self.session.cancel()):
                    self._left = True
                    self._scope.cancel()

    # --- lines --------------------------------------------------------------------------------

    async def _lines(self) -> None:
        while (text := await self.typed.next()) is not None:
            try:
                if not await self._take(text):
                    return
            except* GreenroomError as group:
                for cause in causes_of(group):
                    assert isinstance(cause, GreenroomError)
                    self.view.say(said(cause), "red")

    def _ask_for_line(self) -> None:
        if sys.stdin.isatty():
            self.console.print("> ", end="", style="bold")
            self.console.file.flush()

    async def _take(self, text: str) -> bool:
        """Do what a line asks for; False: leave."""
        match read_line(text):
            case Say(text=words, skills=skills):
                await self._say(words, skills)
            case Order(name="quit"):
                return False
            case Order(name="help"):
                self.view.note(HELP)
            case Order(name="skills"):
                await self._list_skills()
            case Order(name="preset", rest=preset):
                await self._set_preset(preset)
            case Order(name="flush"):
                await self.session.flush()
                self.view.note("everything is written")
            case Order(rest=rest):
                self.view.note(f"There is no /{rest}; /help tells what there is.")
            case None:
                pass
        return True

    async def _list_skills(self) -> None:
        state = await self.session.state()
        agent = self._workspace.agent(state.agent)
        for skill in (
            each for part in self._workspace.skills_for(agent, state.person) for each in part
        ):
            self.view.note(f"${skill.slug}  {short(skill.description, DESCRIPTION_SHOWN)}")

    async def _set_preset(self, preset: str) -> None:
        if preset:
            await self.session.set_permission_preset(preset)
        chosen = (await self.session.state()).preset
        for each in self._workspace.presets.presets:
            sign = "*" if each.id == chosen else " "
            self.view.note(f"{sign} {each.id}  {each.label}")

    @property
    def _workspace(self) -> Workspace:
        """As it stands now: it is read anew before each message."""
        return self.host.services.workspace

    async def _read_anew(self) -> None:
        """What was edited meanwhile is in force from the next message on, whole or not at all."""
        try:
            changes = await self.host.reload()
        except GreenroomError as error:
            self.view.say(f"The workspace stays as it was: {error}", "red")
        else:
            if not changes.is_empty:
                self.view.note(f"· read anew: {changes}")

    # --- an answer ----------------------------------------------------------------------------

    async def _waiting(self) -> None:
        """A turn that waits for answers since it was left: they are asked for first."""
        state = await self.session.state()
        if state.phase == Phase.PARKED and state.running is not None:
            asked = [each async for each in self.host.questions() if each.session == state.session]
            async with self._answered():
                await self._follow(state.cursor, state.running, asked)

    async def _say(self, words: str, skills: tuple[str, ...]) -> None:
        self._unanswered = True
        await self._read_anew()
        receipt = await self.session.prompt(words, skills=skills)
        if (await self.session.state()).phase == Phase.HELD:
            await self._tell_of_holds()
            return
        async with self._answered() as scope, trio.open_nursery() as nursery:
            nursery.start_soon(self._show, receipt, scope)
            # A turn that cannot be saved ends without an event: who waits is told.
            outcome = await self.session.outcome(receipt)
            self._unanswered = outcome.end != "done"

    async def _tell_of_holds(self) -> None:
        """The message is kept; nobody can lift a hold while this has the store."""
        held = (await self.session.state()).hold
        async for each in self.host.holds():
            if each.id == held:
                self.view.note(f"held by {each.by}: {plain(each.reason)}")
                self.view.note(f"the message waits; to let it go on: greenroom lift {each.id}")

    @asynccontextmanager
    async def _answered(self) -> AsyncGenerator[trio.CancelScope]:
        """While it runs, Ctrl-C cancels the turn and does not leave."""
        self._answering = True
        try:
            with trio.CancelScope() as scope:
                yield scope
        finally:
            self._answering = False
            self.view.fresh_line()

    async def _show(self, receipt: Receipt, scope: trio.CancelScope) -> None:
        """Show what happens until the turn that took the message has ended, or nobody answers."""
        async for event in self.session.events(after=receipt.cursor):
            self.view.show(event)
            match event:
                case (
                    TurnStarted(turn=turn, message=message)
                    | MessageAbsorbed(turn=turn, message=message)
                ) if message == receipt.message:
                    await self._follow(event.cursor, turn, [])
                    if (await self.session.state()).phase == Phase.PARKED:
                        scope.cancel()
                    return
                case MessageNotSent(message=message) if message == receipt.message:
                    return
                case _:
                    pass

    async def _follow(self, after: Cursor, turn: int, asked: list[Question]) -> None:
        """Show a turn to its end and ask what it asks; it ends early where nobody can answer."""
        async with trio.open_nursery() as nursery:
            for question in asked:
                nursery.start_soon(self._decide, question, nursery.cancel_scope)
            async for event in self.session.events(after=after):
                self.view.show(event)
                match event:
                    case QuestionAsked(question=question):
                        nursery.start_soon(self._decide, question, nursery.cancel_scope)
                    case TurnEnded(turn=ended) if ended == turn:
                        nursery.cancel_scope.cancel()
                    case _:
                        pass

    async def _decide(self, question: Question, following: trio.CancelScope) -> None:
        """Ask the person whether a call may run, one call after the other."""
        if question.kind == "result":
            self.view.note(f"waits for the result of {question.tool}: {question.text}")
            return
        by = (await self.session.state()).person or PERSON
        if not sys.stdin.isatty():
            self.view.note(f"{question.tool} is declined: nobody is there to be asked")
            await self.session.answer(question.id, Deny(by, NOBODY))
            return
        async with self._one_at_a_time:
            self.view.say(f"{question.tool} {plain(question.arguments)}", "bold")
            self.view.note("may it run? yes, or no and why")
            line = await self.typed.next()
        if line is None:
            self.view.note(f"to answer later: greenroom answer {question.id} --allow")
            following.cancel()
            return
        said = line.strip()
        reason = "" if said.lower() in _NO else said
        answer = Allow(by) if said.lower() in _YES else Deny(by, reason)
        await self.session.answer(question.id, answer)
