"""``greenroom chat``: one person talks with one agent."""

import signal
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
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
from greenroom.actors.cli.rows import key_shown
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
from greenroom.protocol.identity import MessageId, TurnId
from greenroom.protocol.phase import Phase
from greenroom.protocol.question import Allow, Answer, Deny, Question
from greenroom.protocol.receipt import Cursor

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
    answers: str
    """The command that answers what its turns ask."""


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
        return await Chat(console, host, session, whom.again, whom.answers).run()


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
    answers: str
    """The command that answers what its turns ask."""
    view: View = attrs.field(init=False)
    typed: TypedLines = attrs.field(init=False)
    _answering: bool = False
    _left: bool = False
    _unanswered: bool = False
    """Whether the last message was not sent, or its turn did not end as done."""
    _scope: trio.CancelScope = attrs.field(factory=trio.CancelScope)
    _undecided: list[Question] = attrs.field(factory=list)
    """Calls that the person is asked about, in their order."""
    _decided: trio.Event = attrs.field(factory=trio.Event)

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
        try:
            status = await self.session.kept_prompt_status()
        except GreenroomError:
            return  # whatever keeps it from being composed is said of the first message
        for each in status.left_out:
            self.view.note(f"left out: {key_shown(each.contributor)} · {each.sentence}")

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
        with self._telling():
            await self._waiting()
        stays = True
        while stays and (text := await self.typed.next()) is not None:
            with self._telling():
                stays = await self._take(text)

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """What is refused is said, and the chat goes on."""
        try:
            yield
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
        if state.phase in (Phase.PARKED, Phase.ASKING):
            asked = await self._open_questions()
            turn = state.running if state.phase == Phase.PARKED else asked[0].turn
            async with self._answered() as scope:
                await self._follow(state.cursor, scope, asked, turn=turn)

    async def _open_questions(self) -> list[Question]:
        return [each async for each in self.host.questions() if each.session == self.session.id]

    async def _say(self, words: str, skills: tuple[str, ...]) -> None:
        self._unanswered = True
        await self._read_anew()
        receipt = await self.session.prompt(words, skills=skills)
        asked: list[Question] = []
        phase = (await self.session.state()).phase
        if phase == Phase.HELD:
            await self._tell_of_holds()
            return
        if phase in (Phase.PARKED, Phase.ASKING):
            self.view.note("it waits behind a turn that is not answered yet")
            asked = await self._open_questions()
        async with self._answered() as scope, trio.open_nursery() as nursery:
            nursery.start_soon(
                partial(self._follow, receipt.cursor, scope, asked, message=receipt.message)
            )
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

    async def _follow(
        self,
        after: Cursor,
        waiting: trio.CancelScope,
        asked: list[Question],
        *,
        message: MessageId | None = None,
        turn: TurnId | None = None,
    ) -> None:
        """Show what happens, and ask what is asked, until the turn (or the message's) has ended.

        ``waiting`` is cancelled where nobody here can answer.
        """
        async with trio.open_nursery() as nursery:
            for question in asked:
                self._ask(question, nursery, waiting)
            async for event in self.session.events(after=after):
                self.view.show(event)
                match event:
                    case (
                        TurnStarted(turn=taking, message=taken)
                        | MessageAbsorbed(turn=taking, message=taken)
                    ) if taken == message:
                        turn = taking
                    case QuestionAsked(question=question):
                        self._ask(question, nursery, waiting)
                    case MessageNotSent(message=refused) if refused == message:
                        break
                    case TurnEnded(turn=ended) if ended == turn:
                        break
                    case _:
                        pass
            nursery.cancel_scope.cancel()

    # --- what a turn asks ---------------------------------------------------------------------

    def _ask(self, question: Question, nursery: trio.Nursery, waiting: trio.CancelScope) -> None:
        if question.kind == "approval":
            self._undecided.append(question)
            if len(self._undecided) == 1:
                nursery.start_soon(self._decide, waiting)
        else:
            self.view.note(f"waits for the result of {question.tool}: {plain(question.text)}")
            self.view.note(f"to bring it: {self.answers} {question.id} --result TEXT")
            nursery.start_soon(self._leave_to_others, waiting)

    async def _leave_to_others(self, waiting: trio.CancelScope) -> None:
        """What is left to be answered cannot be answered here."""
        while self._undecided:
            await self._decided.wait()
        waiting.cancel()

    async def _decide(self, waiting: trio.CancelScope) -> None:
        """Ask the person whether calls may run, one after the other and in their order."""
        try:
            while self._undecided:
                question = self._undecided[0]
                answer = await self._answer_to(question)
                if answer is None:
                    self.view.note(f"to answer later: {self.answers} {question.id} --allow")
                    waiting.cancel()
                    return
                await self.session.answer(question.id, answer)
                del self._undecided[0]
        finally:
            self._undecided.clear()
            self._decided.set()
            self._decided = trio.Event()

    async def _answer_to(self, question: Question) -> Answer | None:
        """What the person says; None: the input has ended."""
        by = (await self.session.state()).person or PERSON
        if not sys.stdin.isatty():
            self.view.note(f"{question.tool} is declined: nobody is there to be asked")
            return Deny(by, NOBODY)
        self.view.say(f"{question.tool} {plain(question.arguments)}", "bold")
        self.view.note("may it run? yes, or no and why")
        line = await self.typed.next()
        if line is None:
            return None
        said = line.strip()
        if said.lower() in _YES:
            return Allow(by)
        return Deny(by, "" if said.lower() in _NO else said)
