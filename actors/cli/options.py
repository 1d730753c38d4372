"""Options that several commands have."""

from pathlib import Path
from typing import Annotated

import attrs
from cyclopts import Parameter

from greenroom.actors.cli.places import default_store
from greenroom.protocol.identity import DEFAULT_TENANT


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

    @property
    def path(self) -> Path:
        """The store's folder."""
        return self.store or default_store()


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
