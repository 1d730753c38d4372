"""Permission presets: what a session may do unasked, and how the model is told.

Enforcement is :func:`decide`, over the preset and what the tool does; it reads no prompt text (R2).
The ``<permissions>`` section tells the model the same thing in words, and decides nothing.
"""

from collections.abc import Iterable, Iterator
from typing import Final, Literal, TypeAlias

import msgspec

from greenroom.protocol.errors import InvalidInput, SameName, UnknownPreset
from greenroom.protocol.turn import Effect
from greenroom.protocol.wording import Wording

Decision: TypeAlias = Literal["allow", "ask", "refuse"]
"""What becomes of a call."""

_STRICTNESS: Final = {"allow": 0, "ask": 1, "refuse": 2}


class Preset(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A named choice of what may be done, with the sentence that tells the model (R7)."""

    id: str
    label: str
    """What a picker shows."""
    policy: str
    """One or two sentences for the model; the same for every session (R65)."""
    read: Decision = "allow"
    confined_write: Decision
    """Writes that cannot leave the session's own workspace."""
    write: Decision
    """All other writes."""
    asks: bool = True
    """False: what it forbids is refused without a question."""


def decide(preset: Preset, effect: Effect, *, confined: bool = False) -> Decision:
    """What ``preset`` says to a call of a tool with that effect.

    Args:
        preset: what the turn committed to.
        effect: what the tool does to the world.
        confined: whether what it writes stays inside the session's own workspace.
    """
    if effect == "read":
        decision = preset.read
    else:
        decision = preset.confined_write if confined else preset.write
    return "refuse" if decision == "ask" and not preset.asks else decision


def _is_stricter(one: Preset, other: Preset) -> bool:
    """Whether ``one`` is as strict as ``other`` everywhere, and stricter somewhere."""
    ours, theirs = _levels(one), _levels(other)
    return ours != theirs and all(a >= b for a, b in zip(ours, theirs, strict=True))


def _levels(preset: Preset) -> tuple[int, int, int]:
    return (
        _STRICTNESS[decide(preset, "read")],
        _STRICTNESS[decide(preset, "write", confined=True)],
        _STRICTNESS[decide(preset, "write")],
    )


class PresetTable(msgspec.Struct, frozen=True):
    """The presets of a host, the strictest first.

    Raises:
        InvalidInput: no preset at all, or another one is stricter than the first.
        SameName: two presets of one id.
    """

    presets: tuple[Preset, ...]

    def __post_init__(self) -> None:
        if not self.presets:
            raise InvalidInput("A table of presets needs at least one.", what="presets")
        if len(set(self.ids)) < len(self.ids):
            raise SameName("Two presets have one id.", ids=self.ids)
        first = self.presets[0]
        for other in self.presets[1:]:
            if _is_stricter(other, first):
                # New sessions get the first one: a table in another order would be an open door.
                raise InvalidInput(
                    f"The preset {other.id!r} is stricter than {first.id!r}, which stands first.",
                    what="presets",
                )

    def __iter__(self) -> Iterator[Preset]:
        return iter(self.presets)

    @property
    def ids(self) -> tuple[str, ...]:
        """The names to choose from, in the table's order."""
        return tuple(preset.id for preset in self.presets)

    @property
    def strictest(self) -> Preset:
        """What a session gets for which none was chosen (R7)."""
        return self.presets[0]

    def get(self, preset: str) -> Preset:
        """The preset of that id.

        Raises:
            UnknownPreset: there is none; the message names the choices (R10).
        """
        for candidate in self.presets:
            if candidate.id == preset:
                return candidate
        raise UnknownPreset(
            f"There is no preset {preset!r}; there are {', '.join(self.ids)}.",
            preset=preset,
            choices=self.ids,
        )


PRESETS: Final = PresetTable(
    (
        Preset(
            id="read-only",
            label="Read only",
            policy="You may read. Every call that writes is put to a person first.",
            confined_write="ask",
            write="ask",
        ),
        Preset(
            id="workspace-write",
            label="Write in the workspace",
            policy="You may read, and write inside the workspace. Every other call that writes is "
            "put to a person first.",
            confined_write="allow",
            write="ask",
        ),
        Preset(
            id="danger-full-access",
            label="Full access",
            policy="You may read and write without asking.",
            confined_write="allow",
            write="allow",
            asks=False,
        ),
    )
)
"""The shipped table (R7)."""


def strictest_of(decisions: Iterable[Decision]) -> Decision:
    """What holds where several have a say: refuse, then ask, then allow (R155)."""
    return max(decisions, key=_STRICTNESS.__getitem__, default="allow")


def permissions_section(preset: Preset, wording: Wording) -> str:
    """The live ``<permissions>`` section: nothing of the session is in it (R15, R65)."""
    return wording.permissions.format(preset=preset.id, label=preset.label, policy=preset.policy)
