"""Gates and egress: policy on calls, and what a turn committed to of it (R155 to R158).

A gate is a declaration: which calls it is about, and what becomes of them. Gates only tighten: what
holds is the strictest of what preset, egress and every gate say, so a gate that says ``allow``
permits nothing that another refuses (R3). A gate's question is asked under every preset (R7). No
text that a model reads has any part in a decision (R2).

Policy is read when a turn begins or goes on, and committed to for as long as it runs. What was
committed to is stored by content, under the digest that the turn's record names (R77).
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from math import isfinite
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import structs

from greenroom.protocol.argument import Condition, Like, Scalar, fits, values_at
from greenroom.protocol.encoding import decode_stored, encode_sorted
from greenroom.protocol.errors import InvalidInput, TooLarge
from greenroom.protocol.host_name import check_host, host_named, is_among
from greenroom.protocol.identity import SkillId, check_name, check_text
from greenroom.protocol.limits import DEFAULT_LIMITS, Limits
from greenroom.protocol.permission import Decision, Preset, decide, strictest_of
from greenroom.protocol.quoting import quoted
from greenroom.protocol.turn import Effect

WORKSPACE: Final = "workspace"
"""Whose gates those of the workspace's own file are."""
_NUMBER_MAX: Final = 2**63
_TOOL: Final = re.compile(r"[A-Za-z0-9_-]{1,64}\*?|\*")


class Gate(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    tag_field="kind",
    tag="gate",
):
    """What becomes of certain calls of a tool."""

    tool: str
    """Its name; with ``*`` behind it every name that begins so. Of the tool that is really called,
    never ``use_tool`` (R216)."""
    decision: Decision
    where: dict[str, Condition] = {}
    """By argument; all of them have to hold. ``order.kind`` is ``kind`` in ``order``; in a list any
    of its elements will do. An argument that was left out is what its tool says it is then."""
    reason: str = ""
    """For whoever is refused, and for whoever is asked."""


class Egress(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="egress"
):
    """The hosts that calls may name: a name, or ``*.domain`` for all below it (R158)."""

    hosts: tuple[str, ...]


class GateInForce(msgspec.Struct, frozen=True):
    """A gate, and whose it is: :data:`WORKSPACE`, or the skill of that id."""

    source: str
    gate: Gate


class Commitment(msgspec.Struct, frozen=True):
    """What a turn committed to: the preset as it stood, the egress list, and the gates in force.

    Made by :func:`committed_to`, so that equal policy has one digest in whatever order it was read.
    """

    preset: Preset
    egress: Egress | None = None
    """None: calls may name any host."""
    gates: tuple[GateInForce, ...] = ()

    @property
    def is_bare(self) -> bool:
        """Whether the preset alone decides."""
        return not self.gates and self.egress is None


class GateTable(msgspec.Struct, frozen=True):
    """The gates and the egress list of a workspace, and the gates of each of its skills."""

    gates: tuple[Gate, ...] = ()
    egress: Egress | None = None
    skills: Mapping[SkillId, tuple[Gate, ...]] = {}
    """Only of those that have some."""

    def in_force(self, preset: Preset, skills: Collection[SkillId]) -> Commitment:
        """What a turn commits to in which these skills count."""
        of_skills = (
            GateInForce(skill, gate)
            for skill, gates in self.skills.items()
            if skill in skills
            for gate in gates
        )
        own = (GateInForce(WORKSPACE, gate) for gate in self.gates)
        return committed_to(preset, self.egress, [*own, *of_skills])


class ToolFacts(msgspec.Struct, frozen=True):
    """What decides about a tool's calls, besides their arguments."""

    name: str
    effect: Effect
    confined: bool = False
    hosts: tuple[str, ...] = ()
    """The arguments that name a host, or have a URL in them."""
    defaults: Mapping[str, Any] = {}
    """What arguments are that are left out."""


class Verdict(NamedTuple):
    """What becomes of a call, and why: told to the model, or to the person who is asked."""

    decision: Decision
    reason: str = ""


_commitments: Final = msgspec.json.Decoder(Commitment)


# --- committing ----------------------------------------------------------------------------------


def committed_to(preset: Preset, egress: Egress | None, gates: Iterable[GateInForce]) -> Commitment:
    """The commitment to this policy: each gate once, in canonical order."""
    placed = {encode_sorted(each): each for each in gates}
    if egress is not None:
        egress = Egress(tuple(sorted(set(egress.hosts))))
    return Commitment(preset, egress, tuple([placed[key] for key in sorted(placed)]))


def encode_commitment(commitment: Commitment) -> bytes:
    """The bytes that are stored: the same for the same policy."""
    return encode_sorted(commitment)


def gate_set_digest(encoded: bytes) -> str:
    """The name under which an encoded commitment is stored: SHA-256, hexadecimal (R77)."""
    return hashlib.sha256(encoded).hexdigest()


def decode_commitment(data: bytes) -> Commitment:
    """Read a stored commitment. Raises :class:`StoreDamaged` if it is none."""
    return decode_stored(data, _commitments, "gate set")


_SAYS: Final[Mapping[Decision, Verdict]] = {"allow": Verdict("allow"), "ask": Verdict("ask")}
"""What a preset says that refuses nothing: it needs no words."""


# --- deciding ------------------------------------------------------------------------------------


def looks_at(commitment: Commitment, tool: ToolFacts) -> bool:
    """Whether the arguments of a call of the tool have a part in what becomes of it."""
    if commitment.egress is not None and tool.hosts:
        return True
    return any(_is_about(each.gate, tool.name) for each in commitment.gates)


def decide_call(
    commitment: Commitment, tool: ToolFacts, arguments: Mapping[str, Any] | None = None
) -> Verdict:
    """What becomes of a call: the strictest of what preset, egress and gates say (R155).

    Args:
        commitment: what the turn committed to.
        tool: the tool that is really called.
        arguments: as the model wrote them, decoded; needed where :func:`looks_at` says so.
    """
    preset = commitment.preset
    decision = decide(preset, tool.effect, confined=tool.confined)
    first = Verdict(decision, _forbidden(tool, preset)) if decision == "refuse" else _SAYS[decision]
    if not commitment.gates and commitment.egress is None:
        return first
    said = [first]
    given = {**tool.defaults, **(arguments or {})}
    if commitment.egress is not None:
        said += _egress_on(commitment.egress, tool, given)
    said += [
        Verdict(each.gate.decision, _reason_of(each, tool))
        for each in commitment.gates
        if _is_about(each.gate, tool.name) and _holds_for(each.gate, given)
    ]
    strictest = strictest_of([each.decision for each in said])
    reasons = [each.reason for each in said if each.decision == strictest and each.reason]
    return Verdict(strictest, " ".join(dict.fromkeys(reasons)))


def _egress_on(egress: Egress, tool: ToolFacts, given: Mapping[str, Any]) -> Iterator[Verdict]:
    for path in tool.hosts:
        for value in values_at(given, path):
            if value in (None, ""):
                continue
            host = host_named(value)
            if host is None:
                yield Verdict("refuse", f"Not run: {path} names no host that can be told.")
            elif not is_among(host, egress.hosts):
                told = f"Not run: {host} is not among the hosts that may be reached now, {_NOW}"
                yield Verdict("refuse", told)


def _forbidden(tool: ToolFacts, preset: Preset) -> str:
    what = "change things inside the workspace" if tool.confined else "change things"
    return f"Not run: {tool.name} would {what}, which the preset {preset.id!r} forbids."


_NOW: Final = "though it may still be described: policy is read anew with each turn."
"""The prompt of a conversation stands still, and may describe what is refused by now (R156)."""


def _reason_of(each: GateInForce, tool: ToolFacts) -> str:
    reason = each.gate.reason
    if each.gate.decision == "ask":
        return reason
    whose = "the workspace" if each.source == WORKSPACE else f"the skill {each.source}"
    told = f"Not run: a gate of {whose} refuses this call of {tool.name} now, {_NOW}"
    return f"{told} {reason}" if reason else told


def _is_about(gate: Gate, tool: str) -> bool:
    if gate.tool.endswith("*"):
        return tool.startswith(gate.tool[:-1])
    return gate.tool == tool


def _holds_for(gate: Gate, given: Mapping[str, Any]) -> bool:
    return all(
        any(fits(value, condition) for value in values_at(given, path))
        for path, condition in gate.where.items()
    )


# --- declaring -----------------------------------------------------------------------------------


def check_gates(gates: Iterable[Gate], limits: Limits = DEFAULT_LIMITS) -> tuple[Gate, ...]:
    """Return the gates of one file if they can be in force.

    Raises:
        InvalidInput: no gates, or one of a tool, an argument or a value that there cannot be.
        TooLarge: more than ``limits.gates_max``, or a text that is too long.
    """
    checked = tuple(gates)
    if len(checked) > limits.gates_max:
        raise TooLarge(
            f"There are {len(checked):,} gates; the bound is {limits.gates_max:,}.",
            gates=len(checked),
            bound=limits.gates_max,
        )
    for gate in checked:
        _check(gate, limits)
    return checked


def check_egress(egress: Egress, limits: Limits = DEFAULT_LIMITS) -> Egress:
    """Return the list, its hosts in small letters, if it can be in force.

    Raises:
        InvalidInput: a host that cannot be one; the sentence has it.
        TooLarge: more than ``limits.egress_hosts_max``.
    """
    if not isinstance(egress, Egress):
        raise InvalidInput(f"An egress list is an Egress, not a {type(egress).__name__}.")
    if len(egress.hosts) > limits.egress_hosts_max:
        raise TooLarge(
            f"There are {len(egress.hosts):,} hosts; the bound is {limits.egress_hosts_max:,}.",
            hosts=len(egress.hosts),
            bound=limits.egress_hosts_max,
        )
    return structs.replace(egress, hosts=tuple([check_host(host) for host in egress.hosts]))


def _check(gate: Gate, limits: Limits) -> None:
    if not isinstance(gate, Gate):
        raise InvalidInput(f"A gate is a Gate, not a {type(gate).__name__}.", what="gate")
    try:
        msgspec.convert(msgspec.to_builtins(gate), Gate)
    except (msgspec.ValidationError, TypeError) as error:
        raise InvalidInput(f"This gate is not as declared: {error}.", what="gate") from None
    if not _TOOL.fullmatch(gate.tool):
        raise InvalidInput(
            f"A gate cannot be of the tool {quoted(gate.tool)}: letters, digits, - and _, and "
            "perhaps one * at the end.",
            what="gate",
        )
    what = f"gate of {gate.tool}"
    check_text(gate.reason, f"reason of the {what}", limits.result_head_bytes)
    for path, condition in gate.where.items():
        check_name(path, f"argument in the {what}", limits)
        if not all(path.split(".")):
            raise InvalidInput(f"The {what} has the argument {quoted(path)}.", what="gate")
        for value in condition if isinstance(condition, tuple) else (condition,):
            _check_value(value, what, limits)


def _check_value(value: Scalar | Like, what: str, limits: Limits) -> None:
    said = value.like if isinstance(value, Like) else value
    if isinstance(said, str):
        check_text(said, f"value in the {what}", limits.name_bytes_max)
    elif isinstance(said, int | float) and not (isfinite(said) and abs(said) < _NUMBER_MAX):
        raise InvalidInput(f"The {what} compares with a number out of bounds.", what="gate")
