"""Plugins: versioned packages of contributors and skills, with room for integrations (R162).

A plugin is data throughout: a manifest, and the texts of its skills. It says what it adds and
where, which tools it names and which hosts it wants. Whose it is it cannot say; that is given to it
where it is proposed. With an owner it becomes a :class:`Proposal`: exactly what a person is shown
and asked to approve, under one digest (R163).

Of an owner who is neither the operator nor the workspace a plugin is untrusted: it adds text no
wider and no higher than that owner may, and runs the tools that it declared and that only read,
nothing else (R165). Everything in it is text, for what cannot be shown cannot be approved.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

import msgspec

from greenroom.protocol.contributor import Declaration, EagerRun, Owner
from greenroom.protocol.encoding import encode_sorted
from greenroom.protocol.identity import SkillId
from greenroom.protocol.mistyped import mistyped
from greenroom.protocol.refusal import BadPlugin

ToolUse: TypeAlias = Literal["read", "write"]
"""What a plugin says of a tool: it only reads, or it does more than that."""

FOLDER: Final = "plugins"
"""Begins the id of whatever comes with a plugin."""
TRUSTED_OWNERS: Final[tuple[Owner, ...]] = ("operator", "workspace")
"""Owners of plugins that may do more than add text and read (R165)."""


class Manifest(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """What a plugin says of itself."""

    id: str
    """Small letters, digits and dashes: it names a folder."""
    version: str
    """``id@version`` names one content for good (R138)."""
    description: str
    """For people: what the plugin is good for."""
    contributors: tuple[dict[str, Any], ...] = ()
    """Declarations without an owner; an id, a skill or a watched name is one of this plugin."""
    skills: tuple[str, ...] = ()
    """The folders of its skills, by their paths in the plugin."""
    tools: dict[str, ToolUse] = {}
    """Every tool that its contributors name."""
    hosts: tuple[str, ...] = ()
    """Hosts that it wants to be reached: a name, or ``*.domain`` for all below it."""


class Plugin(msgspec.Struct, frozen=True):
    """One version of a plugin as it was read."""

    manifest: Manifest
    texts: Mapping[str, str] = {}
    """Every file of its skills, by its path in the plugin."""

    @property
    def id(self) -> str:
        """Its id, which its versions have in common."""
        return self.manifest.id

    @property
    def version(self) -> str:
        """Its version, in the order of contributors' versions."""
        return self.manifest.version

    @property
    def key(self) -> str:
        """``id@version``."""
        return f"{self.manifest.id}@{self.manifest.version}"


class OfferedSkill(msgspec.Struct, frozen=True):
    """One skill of a proposal, whole."""

    id: SkillId
    texts: Mapping[str, str]
    """Every file of it, by its path in the skill."""


class Proposal(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Exactly what a person is asked to approve: all that would be added, and whose it would be."""

    plugin: str
    version: str
    owner: Owner
    """Whose authority it is installed under; its contributors are that owner's."""
    description: str
    contributors: tuple[Declaration, ...] = ()
    """As they would be installed, by id."""
    skills: tuple[OfferedSkill, ...] = ()
    tools: dict[str, ToolUse] = {}
    hosts: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """``id@version`` of the plugin."""
        return f"{self.plugin}@{self.version}"

    @property
    def digest(self) -> str:
        """SHA-256, hexadecimal, of all of it: what an approval is bound to (R163)."""
        # Of plain data, so that the order in which fields are declared here says nothing.
        return hashlib.sha256(encode_sorted(msgspec.to_builtins(self))).hexdigest()

    @property
    def writing_runs(self) -> frozenset[str]:
        """``id@version`` of the runs that would call a tool that does more than read (R149)."""
        return frozenset(
            each.key
            for each in self.contributors
            if isinstance(each, EagerRun) and self.tools[each.tool] == "write"
        )

    @property
    def is_trusted(self) -> bool:
        """Whether its owner may let a plugin do more than add text and read (R165)."""
        return self.owner in TRUSTED_OWNERS


def manifest_of(value: object) -> Manifest:
    """A manifest from plain data, as YAML, TOML and JSON give it.

    Raises:
        BadPlugin: an unknown field, or one that is missing or of another type; it is named.
    """
    try:
        return msgspec.convert(value, type=Manifest)
    except msgspec.ValidationError as error:
        sentence = f"Its manifest is not as declared: {mistyped(error, value, Manifest)}."
        raise BadPlugin(sentence, where="manifest") from None
    except RecursionError as error:
        raise BadPlugin(f"Its manifest is not as declared: {error}.", where="manifest") from None


def content_of(plugin: Plugin) -> bytes:
    """The bytes by which two versions are told to be one: equal for equal contents (R138)."""
    return encode_sorted(plugin)


def name_of(plugin: Plugin, own: str) -> str:
    """What a contributor or skill of a plugin is called in a workspace."""
    return f"{FOLDER}/{plugin.id}/{own}"


def texts_below(plugin: Plugin, path: str) -> dict[str, str]:
    """The files of one of its skills, by their paths in the skill."""
    return {
        name.removeprefix(f"{path}/"): text
        for name, text in sorted(plugin.texts.items())
        if name.startswith(f"{path}/")
    }
