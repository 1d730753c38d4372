"""``greenroom plugin ...``: what a person proposes, is shown, and decides on plugins (R163).

A proposal is printed whole, and an approval names the digest that stands below it: whoever approves
says of which text. Everything here works on a workspace's folder; no host has to run.
"""

import sys
from functools import partial
from getpass import getuser
from pathlib import Path
from typing import Annotated, Final

import attrs
import msgspec
import trio
from cyclopts import App, Parameter
from rich.console import Console

from greenroom.actors import World
from greenroom.actors.cli.faults import BadOption
from greenroom.actors.cli.looking import print_json
from greenroom.actors.cli.options import Common
from greenroom.actors.cli.places import data_folder, own_sample
from greenroom.actors.cli.running import run
from greenroom.actors.cli.words import console, counted, moment, named
from greenroom.actors.plugin_files import read_plugin
from greenroom.actors.plugin_folder import read_shelf
from greenroom.actors.plugin_steps import approve as approved
from greenroom.actors.plugin_steps import propose as proposed
from greenroom.actors.plugin_steps import reject as rejected
from greenroom.actors.plugin_steps import remove as removed
from greenroom.protocol.catalog import Act, Catalog, State
from greenroom.protocol.contributor import Owner
from greenroom.protocol.errors import BrokenWorkspace
from greenroom.protocol.plugin_telling import told, told_difference

plugin: Final = App(
    name="plugin",
    help="Plugins of a workspace: propose, show, approve, reject, list and remove them.",
    result_action="return_value",
    help_format="plaintext",
)

STATES: Final[dict[State, str]] = {
    "proposed": "needs approval",
    "active": "active",
    "superseded": "superseded",
    "rejected": "rejected",
    "removed": "removed",
}

ACTS: Final[dict[Act, str]] = {
    "propose": "proposed",
    "update": "proposed, and asks for no more than was approved,",
    "approve": "approved",
    "reject": "rejected",
    "remove": "removed",
}

Id = Annotated[
    str, Parameter(name="PLUGIN", help="The plugin, as `greenroom plugin list` lists it.")
]
Version = Annotated[str, Parameter(help="Which version of it.")]
Who = Annotated[str | None, Parameter(help="Who decides; by default who is logged in.")]


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class Placed(Common):
    """Where the plugins are."""

    workspace: Annotated[
        Path | None, Parameter(help="The workspace's folder; by default the sample that chat uses.")
    ] = None

    @property
    def root(self) -> Path:
        """The workspace's folder."""
        return own_sample(data_folder()) if self.workspace is None else self.workspace


class Told(msgspec.Struct, frozen=True):
    """One version in the list, as JSON."""

    plugin: str
    version: str
    state: State
    owner: Owner
    digest: str
    by: str
    at: int


@plugin.command
def propose(
    path: Annotated[Path, Parameter(help="Its folder, or a zip, tar or tar.gz of it.")],
    /,
    *,
    owner: Annotated[
        Owner, Parameter(help="Whose it would be; an author's reaches only agents that name it.")
    ] = "author",
    by: Who = None,
    options: Placed | None = None,
) -> int:
    """Propose a plugin: print exactly what it would add. It is not in use before it is approved."""
    options = options or Placed()

    def step() -> tuple[Catalog, str]:
        read = read_plugin(path)
        after = proposed(options.root, read, owner=owner, by=by or getuser(), at=World().now())
        return after, read.key

    async def go() -> int:
        catalog, key = await trio.to_thread.run_sync(step)
        _show(console(), catalog, key)
        return 0

    return run(go, debug=options.debug)


@plugin.command
def show(id_: Id, version: Version, /, *, options: Placed | None = None) -> int:
    """Print a version whole, and how it differs from the one in use."""
    options = options or Placed()

    async def go() -> int:
        catalog = await trio.to_thread.run_sync(_catalog, options.root)
        _show(console(), catalog, f"{id_}@{version}")
        return 0

    return run(go, debug=options.debug)


@plugin.command
def approve(
    id_: Id,
    version: Version,
    /,
    *,
    digest: Annotated[
        str | None, Parameter(help="The digest that was shown; without it you are shown and asked.")
    ] = None,
    by: Who = None,
    options: Placed | None = None,
) -> int:
    """Approve exactly what was shown under a digest; it is in use from the next load on."""
    options = options or Placed()
    key = f"{id_}@{version}"

    async def go() -> int:
        given = digest
        if given is None:
            _show(console(), await trio.to_thread.run_sync(_catalog, options.root), key)
            given = await trio.to_thread.run_sync(_asked, abandon_on_cancel=True)
        step = partial(approved, options.root, key, given, by=by or getuser(), at=World().now())
        _tell(console(), await trio.to_thread.run_sync(step), key)
        return 0

    return run(go, debug=options.debug)


@plugin.command
def reject(id_: Id, version: Version, /, *, by: Who = None, options: Placed | None = None) -> int:
    """Reject what is proposed; it stays readable, and may be proposed again."""
    options = options or Placed()
    key = f"{id_}@{version}"
    step = partial(rejected, by=by or getuser(), at=World().now())

    async def go() -> int:
        _tell(console(), await trio.to_thread.run_sync(step, options.root, key), key)
        return 0

    return run(go, debug=options.debug)


@plugin.command
def remove(
    id_: Id,
    version: Annotated[str | None, Parameter(help="One version; by default all of them.")] = None,
    /,
    *,
    by: Who = None,
    options: Placed | None = None,
) -> int:
    """Take a plugin, or one version of it, out of use; the one below it is used again."""
    options = options or Placed()
    step = partial(removed, by=by or getuser(), at=World().now())

    async def go() -> int:
        catalog = await trio.to_thread.run_sync(step, options.root, id_, version)
        for key in catalog.states:
            if catalog.decision(key).plugin == id_:
                _tell(console(), catalog, key)
        return 0

    return run(go, debug=options.debug)


@plugin.command(name="list")
def list_(
    *,
    json: Annotated[bool, Parameter(negative=(), help="One JSON object a line.")] = False,
    options: Placed | None = None,
) -> int:
    """List every version that was ever proposed, and what became of it."""
    options = options or Placed()

    async def go() -> int:
        catalog = await trio.to_thread.run_sync(_catalog, options.root)
        for key, state in catalog.states.items():
            one = catalog.decision(key)
            if json:
                print_json(
                    Told(one.plugin, one.version, state, one.owner, one.digest, one.by, one.at)
                )
            else:
                _tell(console(), catalog, key)
        if not json:
            console().print(counted(len(catalog.states), "version"), style="dim")
        return 0

    return run(go, debug=options.debug)


# --- showing -------------------------------------------------------------------------------------


def _catalog(root: Path) -> Catalog:
    shelf = read_shelf(root)
    if shelf.faults:
        listed = "".join(f"- {fault}\n" for fault in shelf.faults)
        raise BrokenWorkspace(f"The plugins are not as decided:\n{listed}", faults=shelf.faults)
    return shelf.catalog


def _show(screen: Console, catalog: Catalog, key: str) -> None:
    for line in told(catalog.proposal(key)):
        screen.print(line)
    former, difference = catalog.former(key), catalog.difference(key)
    if former is not None and difference is not None:
        screen.print(f"Beside {former.plugin.key}, approved before:", style="bold")
        for line in told_difference(difference) or ("It asks for the same.",):
            screen.print(line)
    _tell(screen, catalog, key)


def _tell(screen: Console, catalog: Catalog, key: str) -> None:
    """One version on one line: what became of it, whose it is, and who said so."""
    one, state = catalog.decision(key), STATES[catalog.states[key]]
    who = f"{ACTS[one.act]} by {named(one.by)}, {moment(one.at)} UTC"
    screen.print(f"{key}: {state} (owner {one.owner}; {who})")


def _asked() -> str:
    print("Digest to approve (nothing: leave it): ", end="", flush=True)
    given = sys.stdin.readline().strip()
    if not given:
        raise BadOption("Nothing was approved: give the digest that is shown, or --digest.")
    return given
