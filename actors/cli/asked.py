"""``greenroom questions`` and ``greenroom answer``: what turns wait for, with no host running."""

from typing import Final

from rich.console import Console

from greenroom.actors import World
from greenroom.actors.answering_stored import answer_stored
from greenroom.actors.cli.looking import open_reading, print_json
from greenroom.actors.cli.options import Stored
from greenroom.actors.cli.stores import open_store
from greenroom.actors.cli.words import counted, moment, plain, short
from greenroom.actors.questions import open_questions, session_of
from greenroom.protocol.question import (
    Allow,
    Answer,
    Deny,
    Failure,
    Question,
    Result,
    Settlement,
    Withdrawn,
)

ARGUMENTS_SHOWN: Final = 200


async def questions(console: Console, options: Stored, *, as_json: bool = False) -> int:
    """List what waits for an answer, oldest first (R223)."""
    async with open_reading(options) as store:
        asked = open_questions(store, options.tenant)
    if as_json:
        for question in asked:
            print_json(question)
        return 0
    for question in asked:
        _show(console, question)
    console.print(counted(len(asked), "open question"), style="dim")
    return 0


def _show(console: Console, question: Question) -> None:
    asks = "may it run?" if question.kind == "approval" else "what does it bring?"
    console.print(plain(f"{question.tool}: {asks}"), style="bold")
    console.print(plain(f"  {short(question.arguments, ARGUMENTS_SHOWN)}"))
    if question.text:
        console.print(plain(f"  {question.text}"))
    told = f"  session {question.session} · turn {question.turn} · {moment(question.asked)} UTC"
    if question.expires is not None:
        told += f" · until {moment(question.expires)}"
    console.print(plain(told), style="dim")
    console.print(f"  {question.id}", style="dim", no_wrap=True, overflow="ignore", crop=False)


async def answer(
    console: Console, options: Stored, question: str, given: Answer, *, as_json: bool = False
) -> int:
    """Answer a question; 1 if it had an answer already that says otherwise."""
    async with open_reading(options) as store:
        # What is not there makes no store, and is told beside a host that runs.
        session_of(store, options.tenant, question)
    async with open_store(options.path) as store:
        settled = await answer_stored(store, World(), options.tenant, question, given)
    assert settled.answer is not None
    first = settled.answer == given
    if as_json:
        print_json(settled)
    else:
        told = _said(settled.answer)
        console.print(plain(told if first else f"already {told}"))
    return 0 if first else 1


def _said(answer: Settlement) -> str:
    match answer:
        case Allow(by=by):
            return f"allowed by {by}"
        case Deny(by=by):
            return f"denied by {by}"
        case Result(by=by) | Failure(by=by):
            return f"answered by {by}"
        case Withdrawn():
            return "withdrawn with its turn"
