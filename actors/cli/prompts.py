"""The commands about what shapes prompts, as they are typed: their options and help."""

from functools import partial
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from greenroom.actors.cli import contributing, kept, spent
from greenroom.actors.cli.explaining import explained
from greenroom.actors.cli.options import Common, Stored
from greenroom.actors.cli.places import data_folder, own_sample
from greenroom.actors.cli.running import run
from greenroom.actors.cli.words import console

Json = Annotated[bool, Parameter(negative=(), help="One JSON object.")]
JsonLines = Annotated[bool, Parameter(negative=(), help="One JSON object a line.")]
Place = Annotated[
    str, Parameter(help="SESSION, SESSION:TURN or SESSION:TURN:ROUND; else the last.")
]


def explain(
    first: Place, second: Place, /, *, json: Json = False, options: Stored | None = None
) -> int:
    """Compare two requests: where they first differ, whose part that is, and why it moved.

    They may be of one session or of two.
    """
    options = options or Stored()
    command = partial(explained, console(), options, first, second, as_json=json)
    return run(command, debug=options.debug)


def kept_prompt(
    session: Annotated[str, Parameter(help="Its key, as `greenroom sessions` lists it.")],
    /,
    *,
    full: Annotated[bool, Parameter(negative=(), help="With the text of each part.")] = False,
    json: Json = False,
    options: Stored | None = None,
) -> int:
    """Print what a session's prompt was composed of: whose each part is, and what it takes up."""
    options = options or Stored()
    command = partial(kept.kept_prompt, console(), options, session, full=full, as_json=json)
    return run(command, debug=options.debug)


def contributors(
    workspace: Annotated[
        Path | None, Parameter(help="A folder of agents and skills; by default the sample.")
    ] = None,
    /,
    *,
    agent: Annotated[str | None, Parameter(help="Only what is for this agent.")] = None,
    person: Annotated[str | None, Parameter(help="With what is for this person.")] = None,
    json: JsonLines = False,
    common: Common | None = None,
) -> int:
    """List what shapes prompts in a workspace, built in and installed, and what was refused."""
    common = common or Common()

    async def go() -> int:
        folder = own_sample(data_folder()) if workspace is None else workspace
        return await contributing.contributors(
            console(), folder, agent=agent, person=person, as_json=json
        )

    return run(go, debug=common.debug)


def spend(
    *,
    agent: Annotated[str | None, Parameter(help="Only the sessions of this agent.")] = None,
    contributor: Annotated[
        str | None, Parameter(help="An id, or id@version: its turns beside those without it.")
    ] = None,
    json: JsonLines = False,
    options: Stored | None = None,
) -> int:
    """Print what each version of a contributor spent, and which turns it reached."""
    options = options or Stored()
    command = partial(
        spent.spend, console(), options, agent=agent, contributor=contributor, as_json=json
    )
    return run(command, debug=options.debug)
