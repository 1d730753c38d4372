"""``greenroom compact``: one conversation is summarised, with no host running."""

from rich.console import Console

from greenroom.actors import Model, Policy, Workspace, open_host
from greenroom.actors.cli.looking import found, open_reading, print_json
from greenroom.actors.cli.options import Stored
from greenroom.actors.cli.stores import open_store
from greenroom.actors.cli.words import plain
from greenroom.actors.cli.wrapping import wrapped
from greenroom.protocol.receipt import Compaction

INDENT = 2


async def compact(
    console: Console,
    workspace: Workspace,
    model: Model,
    options: Stored,
    key: str,
    *,
    as_json: bool = False,
) -> int:
    """Compact a conversation, and print the summary that stands for its older part."""
    async with open_reading(options) as store:
        found(store, options.tenant, key)  # told with the keys that are like it
    keys = {"default", *(agent.model for agent in workspace.agents.values())}
    async with (
        open_store(options.path) as kept,
        open_host(
            kept,
            workspace=workspace,
            models=dict.fromkeys(keys, model),
            policy=Policy(revive=False),
        ) as host,
    ):
        session = await host.tenant(options.tenant).session(key)
        done = await session.compact()
    if as_json:
        print_json(done)
    else:
        _print(console, done)
    return 0


def _print(console: Console, done: Compaction) -> None:
    console.print(done.status, style="bold")
    for line in wrapped(console, plain(done.summary), INDENT):
        console.print(f"{' ' * INDENT}{line}")
    told = [f"{done.tokens_before:,} tokens, now {done.tokens_after:,}"]
    if done.before is not None:
        told.insert(0, f"stands for everything before message {done.before}")
    if done.usage.total:
        told.append(f"used {done.usage.total:,}")
    console.print(" · ".join(told), style="dim")
