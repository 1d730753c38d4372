"""An agent as a workspace declares it: data, from which sessions are composed."""

import msgspec

from greenroom.protocol.identity import SkillId


class AgentDeclaration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One agent of a workspace."""

    name: str
    description: str = ""
    prompt: str = ""
    """The agent's own instructions; they outrank everything of a person."""
    model: str = "default"
    """A key of the host's models."""
    parameters: dict[str, str | int | float | bool] = {}
    """Passed to the model with each request, such as ``temperature``."""
    skills: tuple[SkillId, ...] = ()
    """Bound: their bodies stand in the kept prompt, in this order."""
    available: tuple[SkillId, ...] | None = None
    """In its catalog, to pick or load; None: every skill of the workspace that is not bound."""
    tools: tuple[str, ...] | None = None
    """Declared to the model; None: every tool of the host."""
    tools_on_demand: tuple[str, ...] = ()
    """Reached through ``load_tools`` and ``use_tool`` only (R195)."""
    contributors: tuple[str, ...] = ()
    """Ids of contributors that authors own and that are part of this agent, as a stance is (R140).

    What the operator or the workspace owns reaches every agent.
    """
    preset: str | None = None
    """The preset of new sessions; None: the strictest of the table (R7)."""
