"""The one door to tools: every call passes here, and only here is it decided and run.

What a call may do follows from what the turn committed to (preset, egress, gates) and from the
tool that is really called (behind ``use_tool``: the tool that it names, R216). No text that a model
reads has any part in it (R2). A tool's failure is a result that the model is told, never the end of
the turn; a tool that does not return is cut off.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec
import trio

from greenroom.actors.builtin import USE_TOOL, builtin_tools, resolve
from greenroom.actors.files import file_tools
from greenroom.actors.said import pass_on, said_by, sentence_of
from greenroom.actors.tool import Later, Tool, ToolContext, declarations
from greenroom.actors.tool_text import Output, check_arguments, in_short, kept_text
from greenroom.protocol.agent import AgentDeclaration
from greenroom.protocol.encoding import encode_message
from greenroom.protocol.errors import GreenroomError, InvalidInput, ToolFailed, UnknownTool
from greenroom.protocol.gate import Commitment, Gate, decide_call, looks_at
from greenroom.protocol.identity import CallId, SkillId, made_valid
from greenroom.protocol.limits import Limits
from greenroom.protocol.message import ToolCall, ToolMessage
from greenroom.protocol.permission import Decision
from greenroom.protocol.record_parts import CallResult
from greenroom.protocol.turn import CallState

LOAD_TOOLS: Final = "load_tools"
_SAID_OF_ASYNCIO: Final = ("unrecognized yield message", "no running event loop", "inside a task")
"""What trio and asyncio say of a function of asyncio that runs in a loop of trio."""


class Ticket(msgspec.Struct, frozen=True, gc=False):
    """A call that was decided: what runs, and whether it may."""

    call: ToolCall
    tool: Tool[Any] | None
    arguments: str
    decision: Decision
    reason: str = ""
    """Why it may not run, which the model is told; or why it is asked about."""

    @property
    def asks(self) -> bool:
        """Whether a person has to allow it first (R160)."""
        return self.decision == "ask"

    @property
    def may_run(self) -> bool:
        """Whether the tool is to be called."""
        return self.decision == "allow" and self.tool is not None

    @property
    def writes(self) -> bool:
        """Whether an intent has to be durable before it starts (R172)."""
        return self.may_run and self.tool is not None and self.tool.effect != "read"


class Toolbox(msgspec.Struct, frozen=True):
    """The tools of one agent: those it is declared with, and those that it has to load first."""

    declared: Mapping[str, Tool[Any]]
    on_demand: Mapping[str, Tool[Any]]
    encoded: bytes
    """The declarations, canonical: what a composition captures (R195)."""


class Finished(msgspec.Struct, frozen=True, gc=False):
    """The one result of a call, ready for its record, and what it spilled."""

    result: CallResult
    blob: bytes | None = None


class Door:
    """All tools of a host, by name, and the only way to run one."""

    def __init__(
        self,
        tools: Iterable[Tool[Any]],
        limits: Limits,
        now: Callable[[], int],
        *,
        with_files: bool,
    ) -> None:
        self._limits = limits
        brought = [*builtin_tools(now), *(file_tools() if with_files else ())]
        given = list(tools)
        declarations([*brought, *given])
        self._tools: dict[str, Tool[Any]] = {tool.name: tool for tool in (*brought, *given)}
        self._boxes: dict[str, tuple[AgentDeclaration, Toolbox]] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Every tool of the host."""
        return tuple(sorted(self._tools))

    def box(self, agent: AgentDeclaration) -> Toolbox:
        """The tools of an agent. Raises :class:`UnknownTool` for a name that the host lacks."""
        found = self._boxes.get(agent.name)
        if found is not None and found[0] is agent:
            return found[1]
        box = self._made(agent)
        self._boxes[agent.name] = (agent, box)
        return box

    def _made(self, agent: AgentDeclaration) -> Toolbox:
        on_demand = {name: self._tool(name, agent) for name in agent.tools_on_demand}
        named = self._tools if agent.tools is None else agent.tools
        declared = {name: self._tool(name, agent) for name in named if name not in on_demand}
        for name in (LOAD_TOOLS, USE_TOOL):
            if on_demand:
                declared[name] = self._tools[name]
            else:
                declared.pop(name, None)
        return Toolbox(declared, on_demand, declarations(declared.values()))

    def _tool(self, name: str, agent: AgentDeclaration) -> Tool[Any]:
        try:
            return self._tools[name]
        except KeyError:
            raise UnknownTool(
                f"The agent {agent.name!r} names the tool {name!r}; the host has "
                f"{', '.join(self.names)}.",
                tool=name,
                agent=agent.name,
            ) from None

    def check_gates(self, gates: Iterable[Gate]) -> None:
        """Check that gates are about tools and arguments that there are, and not without effect.

        Raises:
            UnknownTool: the host has no tool of that name.
            InvalidInput: the tool has no such argument, or says that it is advisory; or it is
                ``use_tool``.
        """
        for gate in gates:
            if gate.tool.endswith("*"):
                for each in self._tools.values():
                    if each.name.startswith(gate.tool[:-1]):
                        _check_looks_at_effects(gate, each)
                continue
            tool = self._tools.get(gate.tool)
            if tool is None:
                raise UnknownTool(
                    f"A gate names the tool {gate.tool!r}; the host has {', '.join(self.names)}.",
                    way_out="Name one of those in the gate, or take the gate out.",
                    tool=gate.tool,
                )
            if gate.tool == USE_TOOL:
                raise InvalidInput(
                    f"A gate names {USE_TOOL}.", way_out="Name the tool that it calls instead."
                )
            arguments = tool.parameters.get("properties", {})
            for path in gate.where:
                if path.partition(".")[0] not in arguments:
                    raise InvalidInput(
                        f"A gate of {gate.tool} looks at {path!r}, which is no argument of it.",
                        way_out=f"Name one of its arguments: {', '.join(arguments) or 'none'}.",
                    )
            _check_looks_at_effects(gate, tool)

    def decide(
        self, call: ToolCall, box: Toolbox, commitment: Commitment, declared: frozenset[str]
    ) -> Ticket:
        """What becomes of a call under what the turn committed to.

        ``declared`` are the names that the kept prompt declares: a tool that came since is none of
        this conversation, and one that went is not there to be called (R195).
        """
        name, arguments = call.function.name, call.function.arguments
        tool = box.declared.get(name) if name in declared else None
        if tool is None:
            known = declared & box.declared.keys()
            return Ticket(call, None, arguments, "refuse", _no_such_tool(name, box, known))
        if name == USE_TOOL:
            try:
                check_arguments(arguments, self._limits)
                tool, arguments = resolve(tool, arguments, box.on_demand)
            except GreenroomError as error:
                return Ticket(call, None, arguments, "refuse", error.sentence)
        given: dict[str, Any] | None = None
        if (commitment.gates or commitment.egress) and looks_at(commitment, tool.facts):
            given, fault = _read(arguments, self._limits)
            if fault:
                # No gate can tell what such a call would do.
                return Ticket(call, tool, arguments, "refuse", fault)
        decision, reason = decide_call(commitment, tool.facts, given)
        if decision == "ask" and (fault := _read(arguments, self._limits)[1]):
            # Nobody is asked about what could not run.
            return Ticket(call, tool, arguments, "refuse", fault)
        return Ticket(call, tool, arguments, decision, reason)

    async def run(self, ticket: Ticket, context: ToolContext[Any]) -> Finished | Later:
        """Run a call that may run, and give its one result, whatever the tool does.

        ``Later``: it was begun, and what it brings comes later (R224).

        Nothing that a tool raises ends more than its call; see :func:`pass_on` for what is not its
        own. A group in which we are cancelled is our cancellation, whatever else failed on the way;
        what a tool says of its own accord while it is cancelled is its result.
        """
        tool, call = ticket.tool, ticket.call.id
        assert tool is not None
        limit = trio.CancelScope() if tool.timeout is None else trio.move_on_after(tool.timeout)
        output: Output | None = None
        try:
            with limit:
                output = await tool.run(context, ticket.arguments, self._limits)
        except BaseException as error:  # noqa: BLE001 - what is not the tool's own is passed on
            if not isinstance(error, Exception):
                await pass_on(error)
            if not limit.cancelled_caught:
                return self.finished(call, _failure(tool, error), "failed")
        if output is None:
            return self._cut_off(tool, call, context)
        if output.later is not None:
            return output.later
        return self.finished(
            call,
            output.text,
            "done",
            mended=output.mended,
            skill=output.skill,
            revision=output.revision,
        )

    def _cut_off(self, tool: Tool[Any], call: CallId, context: ToolContext[Any]) -> Finished:
        """The result of a call that took too long: what is known of it, and no more."""
        if context.start.give_up():
            text = f"Not run: no thread was free for the tool {tool.name} in its time."
            return self.finished(call, text, "not_run")
        text = f"The tool {tool.name} did not return in time and was cut off."
        return self.finished(call, text, "unknown" if tool.effect == "write" else "failed")

    def finished(
        self,
        call: CallId,
        text: str,
        state: CallState,
        *,
        mended: bool = False,
        skill: SkillId | None = None,
        revision: str = "",
    ) -> Finished:
        """A result as its record holds it; a long one is kept once by content, apart (R193)."""
        kept = kept_text(text, self._limits)
        body = encode_message(ToolMessage(call, kept.shown))
        result = CallResult(
            call,
            msgspec.Raw(body),
            state,
            kept.object,
            mended,
            skill=skill,
            revision=revision,
        )
        return Finished(result, kept.data)


def _check_looks_at_effects(gate: Gate, tool: Tool[Any]) -> None:
    """Refuse a gate on an advisory argument: the model could pass it by other words (P139).

    What it asks about would be approved under one description and run under any other, since an
    approval is not bound to that; and what it refuses would be done all the same.
    """
    for path in gate.where:
        if path.partition(".")[0] in tool.advisory:
            raise InvalidInput(
                f"A gate of {gate.tool} looks at {path!r}, which is advisory in {tool.name}: it "
                "changes nothing of what a call does, and the model may word it as it likes.",
                way_out="Let the gate look at what the call does.",
                tool=tool.name,
                argument=path,
            )


def _failure(tool: Tool[Any], error: BaseException) -> str:
    """What the model is told of a failure: the tool's own sentence, or what it raised."""
    if isinstance(error, ToolFailed):
        return sentence_of(error)
    said = said_by(error)
    if isinstance(error, TypeError | RuntimeError) and any(w in said for w in _SAID_OF_ASYNCIO):
        return (
            f"The tool {tool.name} cannot run: it awaits what is asyncio's, and the host runs on "
            "trio. Its author can make it a plain function, which gets a thread, or use anyio."
        )
    return f"The tool {tool.name} failed: {said}"


def _no_such_tool(name: str, box: Toolbox, known: Iterable[str]) -> str:
    shown = made_valid(name[:100])[0]
    if name in box.on_demand:
        return f"The tool {shown} is called through {USE_TOOL}, after {LOAD_TOOLS}."
    return f"There is no tool {shown!r} now; there are {', '.join(sorted(known))}."


def _read(arguments: str, limits: Limits) -> tuple[dict[str, Any], str]:
    """Arguments as plain data, and what keeps them from being read; that is mostly empty."""
    try:
        check_arguments(arguments, limits)
        return msgspec.json.decode(arguments or "{}", type=dict[str, Any]), ""
    except GreenroomError as error:
        return {}, error.sentence
    except (msgspec.MsgspecError, RecursionError) as error:
        return {}, f"The arguments are no JSON object: {in_short(error)}."


def blobs_of(finished: Iterable[Finished]) -> dict[str, bytes]:
    """What results store by content."""
    return {
        one.result.object: one.blob
        for one in finished
        if one.blob is not None and one.result.object is not None
    }
