"""The commands as they are typed: their names, options and help."""

import shlex
import sys
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from signal import SIGTERM
from typing import Annotated, Final

import trio
from cyclopts import App, CycloptsError, Parameter
from cyclopts.validators import Number

from greenroom.actors import Workspace, World
from greenroom.actors.cli import asked, exports, intervening, looking, prompts
from greenroom.actors.cli import chat as chatting
from greenroom.actors.cli import compact as compacting
from greenroom.actors.cli import demo as demonstrating
from greenroom.actors.cli.choosing import open_model
from greenroom.actors.cli.demo_model import DemoModel, Pace
from greenroom.actors.cli.exits import USAGE
from greenroom.actors.cli.faults import BadOption, told
from greenroom.actors.cli.options import Common, Meant, ModelChoice, Stored, who
from greenroom.actors.cli.places import data_folder, default_store, own_sample
from greenroom.actors.cli.plugins import plugin
from greenroom.actors.cli.running import run
from greenroom.actors.cli.schema import schema_text
from greenroom.actors.cli.streams import OutputLost
from greenroom.actors.cli.words import console, stamp
from greenroom.protocol.errors import GreenroomError
from greenroom.protocol.identity import DEFAULT_TENANT
from greenroom.protocol.question import Allow, Answer, Deny, Failure, Result

CHAT_PACE: Final = Pace(first=(0.1, 0.2), piece=0.04, pieces=16)
DEMO_SIZE: Final = {"scripted": (200, 8)}
"""Sessions and turns of a demo unless they are given, by model."""
SMALL_DEMO: Final = (3, 2)
DEMO_TOKENS: Final = 48
"""Tokens of an answer of a model on this machine: the demo shows sessions, not answers."""

Count = Annotated[int | None, Parameter(validator=Number(gte=1, lte=100_000))]


def _version() -> str:
    try:
        return version("greenroom")
    except PackageNotFoundError:
        return "not installed"


app: Final = App(
    name="greenroom",
    help="Host many LLM-agent sessions over one store.",
    version=_version,
    result_action="return_value",
    help_format="plaintext",
)
app.command(plugin)


def run_command(arguments: list[str]) -> int:
    """Run what was typed; returns the exit code."""
    try:
        result = app(arguments, exit_on_error=False)
        sys.stdout.flush()
    except CycloptsError:
        return USAGE
    except (OutputLost, GreenroomError) as error:
        return told(error)
    return result if isinstance(result, int) else 0


@app.command
def demo(
    *,
    sessions: Annotated[
        Count, Parameter(help="How many at once; 200, or 3 of a real model.")
    ] = None,
    turns: Annotated[Count, Parameter(help="Turns of each; 8, or 2 of a real model.")] = None,
    seed: Annotated[int, Parameter(help="The same seed does the same again.")] = 0,
    store: Annotated[Path | None, Parameter(help="Keep the sessions in this folder.")] = None,
    choice: ModelChoice | None = None,
) -> int:
    """Host many sessions at once, with tools, picks, steers and switches, and measure it.

    Without --model the answers are scripted and take a little time, as a model would.
    """
    choice = choice or ModelChoice()
    name = choice.model or "scripted"
    usual = DEMO_SIZE.get(name, SMALL_DEMO)

    async def go() -> int:
        async with open_model(choice, name, DemoModel(seed), answer_tokens=DEMO_TOKENS) as model:
            return await demonstrating.demo(
                console(),
                model,
                sessions=sessions or usual[0],
                turns=turns or usual[1],
                seed=seed,
                store=store,
            )

    return run(go, debug=choice.debug)


@app.command
def chat(
    workspace: Annotated[
        Path | None, Parameter(help="A folder of agents and skills; by default a sample.")
    ] = None,
    /,
    *,
    store: Annotated[Path | None, Parameter(help="The store's folder.")] = None,
    session: Annotated[
        str | None, Parameter(help="The conversation to go on with; by default a new one.")
    ] = None,
    agent: Annotated[str | None, Parameter(help="Whom to talk with, in a new one.")] = None,
    person: Annotated[
        str | None, Parameter(help=f"Who talks; {chatting.PERSON} in a new one.")
    ] = None,
    preset: Annotated[str | None, Parameter(help="The permission preset.")] = None,
    choice: ModelChoice | None = None,
) -> int:
    """Talk with an agent of a workspace; /help tells what can be typed.

    Without --model a small one runs on this machine (the extra "local").
    """
    choice = choice or ModelChoice()
    world = World()
    new = f"chat-{stamp(world.now())}-{world.new_id()[:4]}"
    key = new if session is None else session
    again = _again(workspace, key, store, choice)
    where = [] if store is None else ["--store", str(store)]
    answers = shlex.join(["greenroom", "answer", *where])
    whom = chatting.Whom(
        key=key, agent=agent, person=person, preset=preset, again=again, answers=answers
    )

    async def go() -> int:
        if not key:
            raise BadOption("--session is to be the key of a conversation, and not empty.")
        loaded = await trio.to_thread.run_sync(_workspace, workspace)
        async with open_model(choice, "local", DemoModel(pace=CHAT_PACE)) as model:
            return await chatting.chat(console(), loaded, model, store or default_store(), whom)

    return run(go, debug=choice.debug, stopped_by=[SIGTERM])


def _again(workspace: Path | None, key: str, store: Path | None, choice: ModelChoice) -> str:
    """The command line that goes on with a conversation as it was begun."""
    options = {
        "--session": key,
        "--store": store,
        "--model": choice.model,
        "--base-url": choice.base_url,
        "--key-env": choice.key_env,
    }
    given = [
        part for name, value in options.items() if value is not None for part in (name, str(value))
    ]
    return shlex.join(["greenroom", "chat", *([str(workspace)] if workspace else []), *given])


def _workspace(folder: Path | None) -> Workspace:
    return Workspace.folder(own_sample(data_folder()) if folder is None else folder)


@app.command
def sessions(
    *,
    meant: Meant | None = None,
    json: Annotated[bool, Parameter(negative=(), help="One JSON object a line.")] = False,
    options: Stored | None = None,
) -> int:
    """List the sessions of a store."""
    options = options or Stored()
    meant = meant or Meant()

    async def go() -> int:
        asked = meant.within(options.tenant)
        return await looking.sessions(console(), options, asked, as_json=json)

    return run(go, debug=options.debug)


@app.command
def show(
    session: Annotated[str, Parameter(help="Its key, as `greenroom sessions` lists it.")],
    /,
    *,
    full: Annotated[bool, Parameter(negative=(), help="Tool results whole.")] = False,
    json: Annotated[bool, Parameter(negative=(), help="One JSON object.")] = False,
    options: Stored | None = None,
) -> int:
    """Print a conversation: who said what, picks, and what shaped each turn."""
    options = options or Stored()
    command = partial(looking.show, console(), options, session, full=full, as_json=json)
    return run(command, debug=options.debug)


@app.command
def compact(
    session: Annotated[str, Parameter(help="Its key, as `greenroom sessions` lists it.")],
    /,
    *,
    workspace: Annotated[
        Path | None, Parameter(help="Its folder of agents and skills; by default the sample.")
    ] = None,
    store: Annotated[Path | None, Parameter(help="The store's folder.")] = None,
    tenant: Annotated[str, Parameter(help="Whose session.")] = DEFAULT_TENANT,
    json: Annotated[bool, Parameter(negative=(), help="One JSON object.")] = False,
    choice: ModelChoice | None = None,
) -> int:
    """Put a summary in place of all but the newest turns, under a prompt composed anew.

    What is stored stays; requests get shorter. Without --model a small one runs on this machine.
    """
    choice = choice or ModelChoice()
    where = Stored(store=store, tenant=tenant)

    async def go() -> int:
        loaded = await trio.to_thread.run_sync(_workspace, workspace)
        async with open_model(choice, "local", DemoModel(pace=CHAT_PACE)) as model:
            return await compacting.compact(console(), loaded, model, where, session, as_json=json)

    return run(go, debug=choice.debug)


@app.command
def request(
    session: Annotated[str, Parameter(help="Its key, as `greenroom sessions` lists it.")],
    turn: Annotated[int, Parameter(validator=Number(gte=1), help="1 is the first.")],
    /,
    *,
    round_: Annotated[
        int,
        Parameter(name="--round", validator=Number(gte=-1), help="0 is the first; -1 the last."),
    ] = -1,
    options: Stored | None = None,
) -> int:
    """Write the exact bytes of a request that a model was given, rebuilt, digest checked."""
    options = options or Stored()
    return run(partial(looking.request, options, session, turn, round_=round_), debug=options.debug)


@app.command
def questions(
    *,
    json: Annotated[bool, Parameter(negative=(), help="One JSON object a line.")] = False,
    options: Stored | None = None,
) -> int:
    """List what waits for an answer: calls to be approved, and results that come later."""
    options = options or Stored()
    return run(partial(asked.questions, console(), options, as_json=json), debug=options.debug)


@app.command
def answer(
    question: Annotated[str, Parameter(help="Its id, as `greenroom questions` lists it.")],
    /,
    *,
    allow: Annotated[bool, Parameter(negative=(), help="The call may run, once.")] = False,
    deny: Annotated[str | None, Parameter(help="It may not, and why.")] = None,
    result: Annotated[str | None, Parameter(help="What an awaited call brought.")] = None,
    failure: Annotated[str | None, Parameter(help="Why it will bring nothing.")] = None,
    by: Annotated[str | None, Parameter(help="Who answers; by default who is logged in.")] = None,
    json: Annotated[bool, Parameter(negative=(), help="One JSON object.")] = False,
    options: Stored | None = None,
) -> int:
    """Answer a question of a store that no host holds; its turn goes on with the next host."""
    options = options or Stored()

    async def go() -> int:
        name = who(by)
        given: list[Answer] = [
            *([Allow(name)] if allow else []),
            *([] if deny is None else [Deny(name, deny)]),
            *([] if result is None else [Result(result, name)]),
            *([] if failure is None else [Failure(failure, name)]),
        ]
        if len(given) != 1:
            raise BadOption("Say one of --allow, --deny WHY, --result TEXT, --failure WHY.")
        return await asked.answer(console(), options, question, given[0], as_json=json)

    return run(go, debug=options.debug)


@app.command
def schema(*, common: Common | None = None) -> int:  # noqa: ARG001 - every command has them
    """Print the JSON Schema of events, receipts, questions and errors."""

    async def write() -> int:
        print(schema_text(), flush=True)
        return 0

    return run(write)


for command in (
    prompts.explain,
    prompts.kept_prompt,
    prompts.contributors,
    prompts.spend,
    intervening.hold,
    intervening.lift,
    intervening.holds,
    intervening.recompose,
    intervening.journal,
):
    app.command(command)
app.command(exports.export)
app.command(exports.import_, name="import")
