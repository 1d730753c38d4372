"""Options that several commands have."""

from getpass import getuser
from pathlib import Path
from typing import Annotated

import attrs
from cyclopts import Parameter

from greenroom.actors.border import check_filter
from greenroom.actors.cli.faults import BadOption
from greenroom.actors.cli.places import default_store
from greenroom.protocol.filter import Filter
from greenroom.protocol.identity import DEFAULT_TENANT, check_name
from greenroom.protocol.limits import DEFAULT_LIMITS


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class Common:
    """What every command has."""

    debug: Annotated[bool, Parameter(negative=(), help="Show the traceback of an error.")] = False


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class Stored(Common):
    """Where to read."""

    store: Annotated[
        Path | None, Parameter(help="The store's folder; by default the one that chat uses.")
    ] = None
    tenant: Annotated[str, Parameter(help="Whose sessions.")] = DEFAULT_TENANT

    def __attrs_post_init__(self) -> None:
        # Here for all commands: bytes that are no UTF-8 come as halves of characters (R194).
        check_name(self.tenant, "tenant")

    @property
    def path(self) -> Path:
        """The store's folder."""
        return self.store or default_store()


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class Meant:
    """Which sessions are meant; without any of it all."""

    skill: Annotated[
        str | None, Parameter(help="Only sessions that show it, in their prompt or a message.")
    ] = None
    revision: Annotated[
        str | None, Parameter(help="Only sessions that show this revision of a skill.")
    ] = None
    contributor: Annotated[
        str | None, Parameter(help="ID or ID@VERSION; only sessions whose kept prompt has it.")
    ] = None
    agent: Annotated[str | None, Parameter(help="Only sessions of this agent.")] = None
    person: Annotated[str | None, Parameter(help="Only sessions of this person.")] = None
    model: Annotated[
        str | None, Parameter(help="Only those it was chosen for, or whose prompt is made for it.")
    ] = None
    preset: Annotated[str | None, Parameter(help="Only sessions under this preset.")] = None
    label: Annotated[
        tuple[str, ...],
        Parameter(
            negative=(),
            show_default=False,
            help="NAME=VALUE; only sessions with it. May be repeated.",
        ),
    ] = ()

    def within(self, tenant: str) -> Filter:
        """The filter, of one tenant.

        Raises:
            BadOption: a label is no name with a value.
            InvalidInput, TooLarge: a name that cannot be one.
        """
        pairs = [each.partition("=") for each in self.label]
        if not all(name and sign for name, sign, _ in pairs):
            raise BadOption("--label is NAME=VALUE.")
        named = attrs.asdict(self, filter=attrs.filters.exclude("label"))
        labels = {name: value for name, _, value in pairs}
        return check_filter(DEFAULT_LIMITS, tenant, labels=labels, **named)


def who(by: str | None) -> str:
    """Who does it: whoever was named, or is logged in. Raises :class:`BadOption`."""
    try:
        return by or getuser()
    except (KeyError, OSError, ImportError):  # whoever runs it has a number and no name
        raise BadOption("Say who does it: --by NAME.") from None


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class ModelChoice(Common):
    """Which model answers. A key is never given on the command line, where others can see it."""

    model: Annotated[
        str | None,
        Parameter(help="local, scripted, a gguf file, or with --base-url the name on the server."),
    ] = None
    base_url: Annotated[
        str | None,
        Parameter(help="A server of the chat-completions wire, without /chat/completions."),
    ] = None
    key_env: Annotated[
        str | None, Parameter(help="The environment variable that holds the server's key.")
    ] = None
