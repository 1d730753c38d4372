"""An agent as a workspace declares it: data, from which sessions are composed."""

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Final

import msgspec

from greenroom.protocol.errors import InvalidInput
from greenroom.protocol.identity import SkillId, check_name, check_text
from greenroom.protocol.limits import DEFAULT_LIMITS

REQUEST_FIELDS: Final = frozenset(
    ("messages", "model", "stream", "stream_options", "system", "tools")
)
"""What a request says itself, on any wire: no parameter may be called so."""


class AgentDeclaration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One agent of a workspace."""

    name: str
    description: str = ""
    prompt: str = ""
    """The agent's own instructions; they outrank everything of a person."""
    model: str = "default"
    """A key of the host's models."""
    parameters: dict[str, str | int | float | bool] = {}
    """Passed to the model with each request, such as ``temperature``; see `parameter_faults`."""
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


def parameter_faults(parameters: Mapping[str, object]) -> Iterator[str]:
    """Why a request cannot carry these parameters: a sentence for each that it cannot."""
    for name, value in parameters.items():
        try:
            check_name(name, "name of a parameter")
            if isinstance(value, str):
                check_text(value, f"parameter {name!r}", DEFAULT_LIMITS.name_bytes_max)
        except InvalidInput as error:
            yield error.sentence
            continue
        if name in REQUEST_FIELDS:
            yield f"The parameter {name!r} is what a request says itself; take it out."
        elif not isinstance(value, str | int | float):
            yield f"The parameter {name!r} is neither a text, a number, true nor false."
        elif isinstance(value, float) and not isfinite(value):
            yield f"The parameter {name!r} is {value}, and no request can carry that."
