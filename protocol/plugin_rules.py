"""What a plugin must be to be offered, and what would be installed of it under whose authority.

Whatever it adds is held to the rules that hold for everybody
(:mod:`greenroom.protocol.contributor_rules`). Beside them: it names every tool that it uses, its
names are its own, and of an owner who is not trusted it adds text and reads, nothing else (R165).
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from msgspec import structs

from greenroom.protocol.condition import VersionChanged
from greenroom.protocol.contributor import (
    BUILT_IN,
    OWNERS,
    Declaration,
    EagerLoad,
    EagerRun,
    Note,
    Owner,
    declaration_of,
)
from greenroom.protocol.contributor_rules import check_tools
from greenroom.protocol.errors import InvalidInput, Refused, SameName, TooLarge
from greenroom.protocol.host_name import check_host
from greenroom.protocol.identity import SkillId, check_text
from greenroom.protocol.installed import TRUSTED, Installed, Terms
from greenroom.protocol.limits import DEFAULT_LIMITS, Limits
from greenroom.protocol.package_path import Parts, is_left_out, parts_within, refuse_alike
from greenroom.protocol.plugin import (
    Manifest,
    OfferedSkill,
    Plugin,
    Proposal,
    manifest_of,
    name_of,
    texts_below,
)
from greenroom.protocol.quoting import PATH_MAX, quoted
from greenroom.protocol.refusal import BadPlugin, UntrustedPlugin

MAIN: Final = "SKILL.md"
"""Every skill has it."""
DESCRIPTION_BYTES_MAX: Final = 4_096
LISTED_MAX: Final = 128
"""Skills, tools or hosts of one plugin."""

_ID: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")
_VERSION: Final = re.compile(r"[a-z0-9](?:[a-z0-9.+-]{0,62}[a-z0-9])?")
_LOCAL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_TOOL: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


def check_plugin(plugin: Plugin, limits: Limits = DEFAULT_LIMITS) -> Plugin:
    """Return ``plugin`` if it can be offered at all, whoever may own it.

    Raises:
        BadPlugin: a name, path, host or text that cannot be one, a contributor that says whose it
            is, a skill without its main file, or a file of no skill; ``facts['where']`` names it.
        SameName: two contributors, skills or hosts of one name.
        TooLarge: more files or bytes than the bounds.
    """
    manifest = _typed(plugin)
    for name, pattern, what in (
        (manifest.id, _ID, "id"),
        (manifest.version, _VERSION, "version"),
    ):
        if not pattern.fullmatch(name):
            raise BadPlugin(
                f"The {what} {quoted(name)} is not of small letters, digits and a few signs "
                "between them, or is too long.",
                where=what,
            )
    with _located("description"):
        check_text(manifest.description, "description", DESCRIPTION_BYTES_MAX)
    if not manifest.description.strip():
        raise BadPlugin("Its description says nothing.", where="description")
    if not manifest.contributors and not manifest.skills:
        raise BadPlugin("It holds neither a contributor nor a skill.", where="manifest")
    _check_wanted(manifest, limits)
    _check_files(plugin, limits)
    _check_ids(manifest)
    return plugin


def proposed(plugin: Plugin, owner: Owner, terms: Terms) -> Proposal:
    """What would be installed of a plugin under an owner's authority, held to every rule.

    Each contributor is held to what one of the workspace is held to. Nothing happens by it.

    Raises:
        InvalidInput: there is no such owner.
        BadPlugin, SameName, TooLarge: see :func:`check_plugin` and :func:`proposal_of`.
        UntrustedPlugin: it wants hosts or a tool that writes, and is not trusted (R165).
        UnknownTool: the host's tools are known, and one is not among them.
        WritesUnapproved: the host's tools are known, and one writes that is said only to read.
        Refused: whatever else installing a contributor raises, with the contributor named.
    """
    if owner not in OWNERS:
        raise InvalidInput(f"An owner is one of {', '.join(OWNERS)}, not {quoted(owner)}.")
    check_plugin(plugin, terms.limits)
    proposal = proposal_of(plugin, owner)
    if not proposal.is_trusted:
        _refuse_more_than_text(proposal)
    _check_installing(proposal, terms)
    return proposal


def proposal_of(plugin: Plugin, owner: Owner) -> Proposal:
    """The proposal of a plugin that was checked before: the same for ever, to the byte.

    Raises:
        BadPlugin: a contributor is none, or names a tool that the manifest does not, or a skill,
            file or watched name that is none of the plugin.
    """
    manifest = plugin.manifest
    declared = [
        _declared(plugin, number, plain, owner)
        for number, plain in enumerate(manifest.contributors, 1)
    ]
    return Proposal(
        plugin=plugin.id,
        version=plugin.version,
        owner=owner,
        description=manifest.description,
        contributors=tuple(sorted(declared, key=lambda each: each.id)),
        skills=tuple(
            OfferedSkill(name_of(plugin, path), texts_below(plugin, path))
            for path in sorted(manifest.skills)
        ),
        tools=dict(sorted(manifest.tools.items())),
        hosts=tuple(sorted(manifest.hosts)),
    )


# --- what it says, whoever owns it ---------------------------------------------------------------


def _typed(plugin: object) -> Manifest:
    """Its manifest, if it is what its types say; one that was made in code may be anything."""
    if not isinstance(plugin, Plugin) or not isinstance(plugin.manifest, Manifest):
        raise BadPlugin(f"A {type(plugin).__name__} is no plugin.", where="plugin")
    if not all(isinstance(each, str) for pair in plugin.texts.items() for each in pair):
        raise BadPlugin("Its files are texts by their paths.", where="texts")
    return manifest_of(structs.asdict(plugin.manifest))


def _check_wanted(manifest: Manifest, limits: Limits) -> None:
    for what, number, bound in (
        ("contributors", len(manifest.contributors), limits.contributors_max),
        ("skills", len(manifest.skills), LISTED_MAX),
        ("tools", len(manifest.tools), LISTED_MAX),
        ("hosts", len(manifest.hosts), LISTED_MAX),
    ):
        _refuse_many(what, number, bound)
    for tool in manifest.tools:
        if not _TOOL.fullmatch(tool):
            raise BadPlugin(f"No tool can be called {quoted(tool)}.", where="tools")
    for host in manifest.hosts:
        with _located("hosts"):
            if check_host(host) != host:
                raise BadPlugin(f"Write the host {quoted(host)} in small letters.", where="hosts")
    _refuse_same("hosts", manifest.hosts)


def _check_files(plugin: Plugin, limits: Limits) -> None:
    skills, texts = plugin.manifest.skills, plugin.texts
    _refuse_many("files", len(texts), limits.plugin_files_max)
    for path in skills:
        _check_path(path)
    _refuse_same("skills", skills)
    refuse_alike([_check_path(path) for path in texts])
    for path in skills:
        if any(path.startswith(f"{other}/") for other in skills):
            raise BadPlugin(f"The skill {path!r} lies in another one.", where=path)
        if f"{path}/{MAIN}" not in texts:
            raise BadPlugin(f"The skill {path!r} has no {MAIN}.", where=path)
    total = 0
    for path, text in texts.items():
        if not any(path.startswith(f"{skill}/") for skill in skills):
            raise BadPlugin(f"The file {path!r} is of none of its skills.", where=path)
        with _located(path):
            total += check_text(text, "file", limits.plugin_file_bytes_max)
    _refuse_many("bytes", total, limits.plugin_bytes_max)


def _refuse_many(what: str, number: int, bound: int) -> None:
    if number > bound:
        raise TooLarge(
            f"It has {number:,} {what}; the bound is {bound:,}.", where=what, bound=bound
        )


def _check_path(path: str) -> Parts:
    """The components of what is named plainly, as it stands on the disk."""
    parts = parts_within(path)
    if not parts or "/".join(parts) != path or is_left_out(parts):
        raise BadPlugin(f"{quoted(path, PATH_MAX)} is no plain path within a plugin.", where=path)
    return parts


def _check_ids(manifest: Manifest) -> None:
    ids: list[str] = list(manifest.skills)
    for number, plain in enumerate(manifest.contributors, 1):
        id_ = plain.get("id")
        if not isinstance(id_, str) or not _LOCAL.fullmatch(id_):
            raise BadPlugin(
                f"Contributor no. {number} has no id of letters, digits and . _ - in it.",
                where=f"contributor no. {number}",
            )
        if "owner" in plain:
            raise BadPlugin(
                f"The contributor {quoted(id_)} says whose it is; whoever proposes it says that.",
                where=id_[:80],
            )
        ids.append(id_)
    _refuse_same("contributors and skills", ids)


def _refuse_same(what: str, names: Sequence[str]) -> None:
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        raise SameName(f"Its {what} name {twice[0]!r} twice.", names=twice, where=what)


# --- what it would add, of one owner -------------------------------------------------------------


def _declared(plugin: Plugin, number: int, plain: Mapping[str, Any], owner: Owner) -> Declaration:
    """A contributor as it would be installed: every name in it is one of the plugin."""
    where = f"contributor no. {number} ({plain['id'][:80]})"
    with _located(where):
        declared = declaration_of({**plain, "id": name_of(plugin, plain["id"]), "owner": owner})
    if isinstance(declared, EagerRun):
        _refuse_unnamed(plugin, where, {declared.tool})
    if isinstance(declared, EagerLoad):
        _refuse_unnamed(plugin, where, set(declared.tools))
        if declared.skill:
            return structs.replace(declared, skill=_own_skill(plugin, where, declared))
    if isinstance(declared, Note) and isinstance(declared.condition, VersionChanged):
        of = tuple(_watched(plugin, where, name) for name in declared.condition.of)
        return structs.replace(declared, condition=VersionChanged(of))
    return declared


def _refuse_unnamed(plugin: Plugin, where: str, tools: set[str]) -> None:
    for tool in sorted(tools - plugin.manifest.tools.keys()):
        raise BadPlugin(
            f"{where}: It uses the tool {quoted(tool)}, which the manifest does not name.",
            where=where,
            tool=tool,
        )


def _own_skill(plugin: Plugin, where: str, load: EagerLoad) -> SkillId:
    if load.skill not in plugin.manifest.skills:
        raise BadPlugin(
            f"{where}: It loads the skill {quoted(load.skill)}, which is none of the plugin.",
            where=where,
        )
    for file in sorted(set(load.files) - texts_below(plugin, load.skill).keys()):
        raise BadPlugin(
            f"{where}: The skill {load.skill!r} has no file {quoted(file)}.", where=where
        )
    return name_of(plugin, load.skill)


def _watched(plugin: Plugin, where: str, name: str) -> str:
    own = {plain["id"] for plain in plugin.manifest.contributors} | {*plugin.manifest.skills}
    if name in own:
        return name_of(plugin, name)
    if name not in BUILT_IN:
        raise BadPlugin(
            f"{where}: It watches {quoted(name)}, which is neither of the plugin nor built in.",
            where=where,
        )
    return name


def _refuse_more_than_text(proposal: Proposal) -> None:
    """Refuse what an untrusted plugin may not ask for (R165)."""
    writing = [tool for tool, use in proposal.tools.items() if use != "read"]
    wants = f"the tool {writing[0]!r}, which writes" if writing else "hosts to be reached"
    if writing or proposal.hosts:
        raise UntrustedPlugin(
            f"{proposal.key!r} asks for {wants}; of the owner {proposal.owner} a plugin adds text "
            "and runs tools that only read.",
            plugin=proposal.key,
            owner=proposal.owner,
        )


def _check_installing(proposal: Proposal, terms: Terms) -> None:
    """Hold each contributor to the rules of installing; what comes of it is thrown away."""
    trial = Installed()
    asked_of_nobody = structs.replace(terms, authorities=TRUSTED, tools=None)
    for each in proposal.contributors:
        with _located(each.key):
            trial = trial.publish(each, asked_of_nobody)
            if terms.tools is not None:
                check_tools(each, terms.tools, approved=each.key in proposal.writing_runs)


@contextmanager
def _located(where: str) -> Iterator[None]:
    """Whatever is refused here says where in the plugin it stands."""
    try:
        yield
    except Refused as error:
        kind = type(error)
        facts = {**error.facts, "where": where}
        sentence = error.sentence if where in error.sentence else f"{where}: {error.sentence}"
        raise kind(sentence, way_out=error.way_out, **facts) from None
