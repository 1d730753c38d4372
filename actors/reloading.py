"""A workspace is read anew while its host is open: taken whole, or refused with every fault (R231).

New conversations have it at once. Those that run keep the prompt that they were composed with until
they are composed anew, and are told by a note that something changed (R60, R69).
"""

from collections.abc import Mapping

import msgspec
import trio
from msgspec import structs

from greenroom.actors.services import Services
from greenroom.actors.tools import Door
from greenroom.actors.workspace import Workspace


class Changes(msgspec.Struct, frozen=True):
    """What a workspace has that the one before had not, or had otherwise; each by name."""

    agents: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    """By id, as far as their heads tell: bodies are read when they are used."""
    persons: tuple[str, ...] = ()
    contributors: tuple[str, ...] = ()
    presets: tuple[str, ...] = ()
    preamble: bool = False
    gates: bool = False
    """Policy on calls: gates or the hosts that calls may name (R155)."""

    def __str__(self) -> str:
        named = [
            f"{kind} {', '.join(names)}"
            for kind, names in structs.asdict(self).items()
            if isinstance(names, tuple) and names
        ]
        whole = [kind for kind in ("preamble", "gates") if getattr(self, kind)]
        return "; ".join([*named, *whole]) or "nothing"

    @property
    def is_empty(self) -> bool:
        """Whether nothing that is declared changed."""
        return self == Changes()


async def reload(services: Services, given: Workspace | None) -> Changes:
    """Take ``given``, or read the present workspace again where it came from.

    Raises:
        BrokenWorkspace: with every fault; nothing changed.
        UnknownTool: an agent names a tool that the host lacks; nothing changed.
    """
    before = services.workspace
    if given is None:
        after = await trio.to_thread.run_sync(before.again, limiter=services.reading)
    else:
        after = given
    # All that may be refused comes first.
    door = Door(services.tools, services.limits, services.world.now, with_files=has_files(after))
    for agent in after.agents.values():
        door.box(agent)
    door.check_gates(after.gate_table.gates)
    gone = {name: agent for name, agent in before.agents.items() if name not in after.agents}
    services.departed = {
        name: agent
        for name, agent in (services.departed | gone).items()
        if name not in after.agents
    }
    services.workspace, services.door = after, door
    services.generation += 1
    services.current.clear()
    services.most_called.clear()
    return changes_between(before, after)


def has_files(workspace: Workspace) -> bool:
    """Whether agents of a workspace are given the file tools."""
    return workspace.files_root is not None


def changes_between(before: Workspace, after: Workspace) -> Changes:
    """What of a workspace is not as it was."""
    return Changes(
        _changed(before.agents, after.agents),
        _changed(before.skills, after.skills),
        _changed(before.persons, after.persons),
        _changed(
            {one.id: one for one in before.contributors.active},
            {one.id: one for one in after.contributors.active},
        ),
        _changed(
            {preset.id: preset for preset in before.presets},
            {preset.id: preset for preset in after.presets},
        ),
        before.preamble != after.preamble,
        before.gate_table != after.gate_table,
    )


def _changed(before: Mapping[str, object], after: Mapping[str, object]) -> tuple[str, ...]:
    names = before.keys() | after.keys()
    return tuple(sorted(name for name in names if before.get(name) != after.get(name)))
