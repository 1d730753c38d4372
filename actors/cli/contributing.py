"""``greenroom contributors``: what shapes prompts in a workspace, what was refused (R103, R139)."""

from functools import partial
from pathlib import Path
from typing import Final

import attrs
import trio
from rich.console import Console

from greenroom.actors import Workspace
from greenroom.actors.cli.looking import print_json
from greenroom.actors.cli.rows import key_shown, print_rows, told
from greenroom.actors.cli.words import counted, named
from greenroom.actors.contributor_files import install, read_contributors
from greenroom.actors.contributors_listed import (
    ListedContributor,
    contributors_in,
    installed_only,
)
from greenroom.actors.plugin_folder import read_shelf
from greenroom.protocol.errors import BrokenWorkspace
from greenroom.protocol.installed import NotInstalled

_COLUMNS: Final = ("contributor", "owner", "placement", "priority", "tokens", "reach", "", "agents")


async def contributors(
    console: Console,
    folder: Path,
    *,
    agent: str | None = None,
    person: str | None = None,
    as_json: bool = False,
) -> int:
    """List what shapes prompts in a workspace; what was refused is told with its figures (R103).

    Raises:
        BrokenWorkspace: behind the list of what could be installed, with every fault.
    """
    broken: BrokenWorkspace | None = None
    warnings: tuple[str, ...] = ()
    try:
        workspace = await trio.to_thread.run_sync(Workspace.folder, folder)
        read = partial(contributors_in, workspace, agent=agent, person=person)
        listed = await trio.to_thread.run_sync(read)
        refused, warnings = workspace.contributors.refused, workspace.warnings
    except BrokenWorkspace as error:
        broken = error
        declarations = await trio.to_thread.run_sync(read_contributors, folder)
        shelf = await trio.to_thread.run_sync(read_shelf, folder)
        installed, _ = install(attrs.evolve(declarations, catalog=shelf.catalog))
        listed, refused = installed_only(installed), installed.refused
    if as_json:
        for each in (*listed, *refused):
            print_json(each)
    else:
        _print_contributors(console, listed, refused)
        for warning in warnings:
            told(console, f"warning: {warning}", style="yellow")
    if broken is not None:
        raise broken
    return 0


def _print_contributors(
    console: Console, listed: tuple[ListedContributor, ...], refused: tuple[NotInstalled, ...]
) -> None:
    print_rows(console, _COLUMNS, [_listed(each) for each in listed], right=("priority", "tokens"))
    for one in listed:
        if one.left_out:
            told(console, f"left out: {key_shown(one.contributor)} · {one.left_out}")
    for each in refused:
        told(console, f"refused: {key_shown(each.contributor)} · {each.sentence}")
    console.print(counted(len(listed), "contributor"), style="dim")


def _listed(one: ListedContributor) -> tuple[str, ...]:
    budget = "" if one.budget is None else f" of {one.budget:,}"
    return (
        key_shown(one.contributor),
        one.owner,
        one.placement,
        f"{one.priority:,}",
        f"{one.tokens:,}{budget}",
        one.reach.replace("_", " "),
        "on" if one.on else "off",
        ", ".join(named(agent) for agent in one.agents) or "none",
    )
