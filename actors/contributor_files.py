"""The contributors of a workspace: read from its folder, and installed with every fault told.

    contributors/*.yaml, *.toml, *.json   one declaration, or a list (in TOML: [[contributors]])
    switches.yaml                         switched_off: ids; approved: id@version of runs that may
                                          call a tool that writes

Both are the owner's own and are read strictly: a slip must not pass for a choice. Whoever writes
the workspace is trusted with every owner's authority, and what was installed says so (R135).
"""

import json
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import attrs
import msgspec

from greenroom.actors.confined import list_folder, read_bytes
from greenroom.actors.front_matter import decoded, yaml_value
from greenroom.actors.zones import check_zone
from greenroom.protocol.catalog import Catalog, InUse
from greenroom.protocol.condition import DateCrossed
from greenroom.protocol.contributor import KINDS, Declaration, EagerRun, Note, declaration_of
from greenroom.protocol.errors import ExtraMissing, InvalidInput, Missing, Refused, TooLarge
from greenroom.protocol.installed import TRUSTED, Installed, Terms
from greenroom.protocol.limits import DEFAULT_LIMITS
from greenroom.protocol.mistyped import mistyped
from greenroom.protocol.plugin import FOLDER as PLUGINS

FOLDER: Final = "contributors"
SWITCHES: Final = "switches.yaml"
BYTES_MAX: Final = 1_048_576
"""One file; YAML has a bound of its own, for it is read slowly."""
ENTRIES_MAX: Final = 10_000
BY: Final = "the workspace"
"""Who installs what stands in it."""


class Switches(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``switches.yaml``: what holds of the contributors of this workspace."""

    switched_off: tuple[str, ...] = ()
    """Ids, of built-in contributors too (R141). Plain *off* is no name in YAML, but a false."""
    approved: tuple[str, ...] = ()
    """``id@version`` of runs that may call a tool that writes (R149)."""


@attrs.frozen(eq=False)
class Declarations:
    """What a workspace declares, not installed yet, each with where it stands."""

    declared: tuple[tuple[str, Declaration], ...] = ()
    switches: Switches = attrs.field(factory=Switches)
    faults: tuple[str, ...] = ()
    catalog: Catalog = attrs.field(factory=Catalog)
    """The plugins, whose contributors are installed beside them."""


def read_contributors(root: Path) -> Declarations:
    """Read ``contributors/`` and ``switches.yaml`` below ``root``. Waits for the disk.

    Raises:
        ExtraMissing: PyYAML is not installed.
    """
    faults: list[str] = []
    declared = tuple(_declared(root, faults))
    return Declarations(declared, _switches(root, faults), tuple(faults))


def given_in_code(
    contributors: Iterable[Declaration],
    switched_off: Iterable[str],
    approved: Iterable[str],
    plugins: Catalog = Catalog(),  # noqa: B008 - frozen
) -> Declarations:
    """The same of what was given in code."""
    named = tuple((f"{FOLDER}: {_name_of(one)}", one) for one in contributors)
    return Declarations(named, Switches(tuple(switched_off), tuple(approved)), (), plugins)


def install(declarations: Declarations) -> tuple[Installed, tuple[str, ...]]:
    """Install all of it; what is refused is a fault, with the figures if it is over its budget.

    The refusals can be read in what is returned, too (R103).
    """
    terms = Terms(by=BY, authorities=TRUSTED)
    installed, faults = Installed(), list(declarations.faults)
    for place, declaration in declarations.declared:
        if type(declaration) not in KINDS:
            faults.append(f"{place}: It is no contributor.")
            continue
        if declaration.id.startswith(f"{PLUGINS}/"):
            faults.append(f"{place}: Only what a plugin brings is called {PLUGINS}/....")
            continue
        approve = declaration.key in declarations.switches.approved
        installed = _offered(installed, place, declaration, terms, faults, approve=approve)
    for one in declarations.catalog.active:
        installed = _with_plugin(installed, one, faults)
    for id_ in dict.fromkeys(declarations.switches.switched_off):
        try:
            installed = installed.switch(id_, terms, on=False)
        except Refused as error:
            faults.append(f"{SWITCHES}: {error.sentence}")
    faults += [
        f"{SWITCHES}: There is no run {key!r} to be approved."
        for key in declarations.switches.approved
        if key.startswith(f"{PLUGINS}/")  # what those may call is approved with their plugin
        or not isinstance(installed.published.get(key), EagerRun)
    ]
    return installed, tuple(faults)


def _with_plugin(installed: Installed, one: InUse, faults: list[str]) -> Installed:
    """The same with what a plugin brings, under the authority that its approval used (R135)."""
    proposal = one.proposal
    terms = Terms(by=one.decision.by, authorities=TRUSTED)
    place = f"{PLUGINS}/{proposal.plugin}/{proposal.version}"
    for declaration in proposal.contributors:
        approve = declaration.key in proposal.writing_runs
        installed = _offered(installed, place, declaration, terms, faults, approve=approve)
    return installed


def _offered(
    installed: Installed,
    place: str,
    declaration: Declaration,
    terms: Terms,
    faults: list[str],
    *,
    approve: bool,
) -> Installed:
    """The same with one more, or with its refusal, which is a fault of where it stands."""
    try:
        check_zones(declaration)
    except Refused as error:
        faults.append(f"{place}: {error.sentence}")
        return installed
    installed = installed.offer(declaration, terms, approve=approve)
    faults += [
        f"{place}: {refused.sentence}"
        for refused in installed.refused
        if refused.contributor == declaration.key
    ]
    return installed


def check_zones(declaration: Declaration) -> None:
    """Refuse a time zone that this machine does not know. Raises :class:`InvalidInput`."""
    if isinstance(declaration, Note) and isinstance(declaration.condition, DateCrossed):
        check_zone(declaration.condition.zone)


def _name_of(value: object) -> str:
    return value.key if isinstance(value, Declaration) else f"a {type(value).__name__}"


# --- files ---------------------------------------------------------------------------------------


def _declared(root: Path, faults: list[str]) -> Iterator[tuple[str, Declaration]]:
    for name, parse in _files(root, faults):
        file = f"{FOLDER}/{name}"
        for place, value in _values(root, file, parse, faults):
            try:
                yield place, declaration_of(value)
            except Refused as error:
                faults.append(f"{place}: {error.sentence}")


def _files(root: Path, faults: list[str]) -> Iterator[tuple[str, Callable[[str], Any]]]:
    """The files of the folder, with what reads each; whatever else lies there is a fault."""
    try:
        entries = list_folder(root, FOLDER, ENTRIES_MAX)
    except Missing:
        return
    except Refused as error:
        faults.append(f"{FOLDER}: {error.sentence}")
        return
    for entry in entries:
        parse = PARSERS.get(entry.name.rpartition(".")[2])
        if entry.name.startswith("."):
            continue
        if entry.kind == "folder" or parse is None:
            endings = ", ".join(f".{ending}" for ending in PARSERS)
            faults.append(f"{FOLDER}/{entry.name}: It is not read; what is, ends with {endings}.")
        else:
            yield entry.name, parse


def _values(
    root: Path, file: str, parse: Callable[[str], Any], faults: list[str]
) -> Iterator[tuple[str, object]]:
    """The declarations of one file, as plain data, each with where it stands."""
    try:
        value = parse(decoded(read_bytes(root, file, BYTES_MAX)))
        if isinstance(value, Mapping) and value.keys() == {FOLDER}:
            value = value[FOLDER]
        if not isinstance(value, list):
            yield file, value
            return
        if len(value) > DEFAULT_LIMITS.contributors_max:
            raise TooLarge(f"It lists more than {DEFAULT_LIMITS.contributors_max:,} contributors.")
    except ExtraMissing:
        raise  # no fault of the file
    except Refused as error:
        faults.append(f"{file}: {error.sentence}")
        return
    for number, each in enumerate(value, 1):
        yield f"{file}, no. {number}", each


def _switches(root: Path, faults: list[str]) -> Switches:
    value: object = None
    try:
        value = yaml_value(decoded(read_bytes(root, SWITCHES, BYTES_MAX)), unique=True) or {}
        return msgspec.convert(value, Switches)
    except Missing:
        return Switches()
    except ExtraMissing:
        raise  # no fault of the file
    except Refused as error:
        faults.append(f"{SWITCHES}: {error.sentence}")
    except msgspec.ValidationError as error:
        faults.append(f"{SWITCHES}: It is not as declared: {mistyped(error, value, Switches)}.")
    return Switches()


def _yaml(text: str) -> Any:
    return yaml_value(text, unique=True)


def _toml(text: str) -> Any:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"Its TOML cannot be read: {error}.") from None


def _json(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"Its JSON cannot be read: {error}.") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise InvalidInput(f"Its JSON has a key twice, among {', '.join(made)}.")
    return made


def _no_number(name: str) -> None:
    raise InvalidInput(f"Its JSON holds {name}, which is no number.")


PARSERS: Final[Mapping[str, Callable[[str], Any]]] = MappingProxyType(
    {"yaml": _yaml, "yml": _yaml, "toml": _toml, "json": _json}
)
