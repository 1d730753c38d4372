"""``gates.yaml``: the policy on calls of a workspace, and of a skill in the skill's folder.

::

    egress: [api.shop.example, "*.cdn.example"]     # of a workspace only; left out: any host
    gates:
      - tool: refund                                # or the beginning of names: shop_*
        decision: ask                               # or refuse; allow tightens nothing
        where: {currency: [usd, eur], order.note: {like: "*gift*"}}
        reason: Refunds are put to a person.

A workspace's file is its owner's own and is read strictly. A skill's comes from others: what it
holds beside its gates is passed over with a word. But a gate that cannot be understood is a fault
of the workspace in either, never left out: without it a call would be allowed that somebody wanted
asked about.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs
import msgspec

from greenroom.actors.front_matter import decoded, yaml_mapping
from greenroom.protocol.errors import ExtraMissing, InvalidInput, Refused
from greenroom.protocol.gate import Egress, Gate, GateTable, check_egress, check_gates
from greenroom.protocol.identity import SkillId
from greenroom.protocol.mistyped import mistyped
from greenroom.protocol.skill import SkillPackage

GATES: Final = "gates.yaml"
BYTES_MAX: Final = 1_048_576


@attrs.frozen
class GateFile:
    """A file as it was read; ``oddities`` are for those who keep the workspace."""

    gates: tuple[Gate, ...] = ()
    egress: Egress | None = None
    oddities: tuple[str, ...] = ()


def workspace_gates(data: bytes) -> GateFile:
    """Read a workspace's file. Raises :class:`InvalidInput` for whatever in it is not as declared.

    Raises:
        ExtraMissing: PyYAML is not installed.
    """
    told = yaml_mapping(decoded(data))
    if others := sorted(told.keys() - {"gates", "egress"}):
        raise InvalidInput(f"It holds {others[0]!r} beside its gates and egress.")
    egress = None
    if "egress" in told:
        egress = check_egress(Egress(_converted(told["egress"], tuple[str, ...], "egress")))
    return GateFile(_gates(told), egress)


def skill_gates(data: bytes) -> GateFile:
    """Read the file of a skill. Raises :class:`InvalidInput` for a gate that is not as declared.

    Raises:
        ExtraMissing: PyYAML is not installed.
    """
    told = yaml_mapping(decoded(data))
    others = sorted(told.keys() - {"gates"})
    oddities = [f"It holds {name!r}, which is passed over." for name in others]
    return GateFile(_gates(told), None, tuple(oddities))


def gates_given(
    gates: Iterable[Gate], egress: Iterable[str] | None, packages: Iterable[SkillPackage]
) -> tuple[GateTable, tuple[str, ...], tuple[str, ...]]:
    """The policy of a workspace that is made in code; what is odd in it, and every fault."""
    of_skills: dict[SkillId, tuple[Gate, ...]] = {}
    odd: list[str] = []
    faults: list[str] = []
    own: tuple[Gate, ...] = ()
    hosts: Egress | None = None
    try:
        own = check_gates(gates)
        if egress is not None:
            # One text is no list of its letters.
            given = [egress] if isinstance(egress, str) else egress
            hosts = check_egress(Egress(tuple(given)))
    except Refused as error:
        faults.append(f"gates: {error.sentence}")
    for package in packages:
        if GATES not in package.files:
            continue
        file = f"{package.summary.id}/{GATES}"
        try:
            read = skill_gates(package.files[GATES])
        except ExtraMissing:
            raise
        except Refused as error:
            faults.append(f"{file}: {error.sentence}")
            continue
        odd += [f"{file}: {oddity}" for oddity in read.oddities]
        if read.gates:
            of_skills[package.summary.id] = read.gates
    return GateTable(own, hosts, of_skills), tuple(odd), tuple(faults)


def _gates(told: Mapping[str, Any]) -> tuple[Gate, ...]:
    value = told.get("gates")
    return () if value is None else check_gates(_converted(value, tuple[Gate, ...], "gates"))


def _converted(value: object, type_: Any, name: str) -> Any:
    try:
        return msgspec.convert(value, type_)
    except msgspec.ValidationError as error:
        sentence = f"Its {name} are not as declared: {mistyped(error, value, type_)}."
        raise InvalidInput(sentence) from None
