"""Contributors: whatever shapes what a model is given, other than the conversation itself.

A contributor is a declaration in a fixed vocabulary, never code: it can be shown to a person,
reasoned about and refused before it is used. Each says who owns it, how widely it is shared, where
it stands among its like and which turns it reaches; each version's content is immutable.

A contribution may not stand wider than what it varies by. What a text varies by is computed from
the placeholders in it, never taken from a claim (R134, P066).
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

import msgspec

from greenroom.protocol.errors import WrongPlacement
from greenroom.protocol.identity import check_name, check_text
from greenroom.protocol.limits import DEFAULT_LIMITS, Limits
from greenroom.protocol.placement import Placement, is_wider, rank_of

Owner: TypeAlias = Literal["operator", "workspace", "author", "person"]
Reach: TypeAlias = Literal["every_turn", "turns_with_a_person", "replies_to_the_person"]

OWNERS: Final[tuple[Owner, ...]] = ("operator", "workspace", "author", "person")
"""In the order in which they stand at equal priority (R63)."""

PLACEHOLDERS: Final[Mapping[str, Placement]] = MappingProxyType(
    {
        "agent": "agent",
        "person": "person",
        "session": "conversation",
        "turn": "message",
        "now": "message",
        "today": "message",
    }
)
"""What may be filled into a text, and the widest placement at which it is the same for all."""

_PLACEHOLDER: Final = re.compile(r"\{(" + "|".join(PLACEHOLDERS) + r")\}")
_OWNER_RANK: Final = {owner: rank for rank, owner in enumerate(OWNERS)}


class Text(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    tag_field="kind",
    tag="text",
):
    """Words added to the system string, once, when a conversation's prompt is composed."""

    id: str
    version: str
    """``id@version`` names one content for good."""
    owner: Owner
    placement: Literal["platform", "agent", "person"]
    text: str
    priority: int = 0
    """Higher stands first within its group, and outranks what stands after it."""
    heading: str = ""
    """Rendered above the text; empty for none."""
    reach: Reach = "every_turn"

    @property
    def key(self) -> str:
        """``id@version``: what a turn record names."""
        return f"{self.id}@{self.version}"


def check_contribution(contribution: Text, limits: Limits = DEFAULT_LIMITS) -> Text:
    """Return ``contribution`` if it may be installed.

    Raises:
        InvalidInput: an id, version or text that cannot be stored (R194).
        TooLarge: a text over ``limits.message_bytes_max``.
        WrongPlacement: it varies by something narrower than its placement (R134), or does not
            reach every turn and stands elsewhere than at the person (R137).
    """
    check_name(contribution.id, "contributor id", limits)
    check_name(contribution.version, "contributor version", limits)
    check_text(contribution.heading, "contributor heading", limits.name_bytes_max)
    check_text(contribution.text, "contributor text", limits.message_bytes_max)
    varies = varies_by(contribution.text)
    if is_wider(contribution.placement, varies):
        raise WrongPlacement(
            f"The text {contribution.key!r} stands at {contribution.placement} "
            f"and varies by {varies}.",
            contributor=contribution.key,
            placement=contribution.placement,
            varies_by=varies,
        )
    if contribution.reach != "every_turn" and contribution.placement != "person":
        raise WrongPlacement(
            f"The text {contribution.key!r} does not reach every turn, so its place is person, "
            f"not {contribution.placement}.",
            contributor=contribution.key,
            placement=contribution.placement,
            reach=contribution.reach,
        )
    return contribution


def varies_by(text: str) -> Placement:
    """The widest placement at which ``text`` is the same for all who share it there."""
    found = (PLACEHOLDERS[name] for name in _PLACEHOLDER.findall(text))
    return max(found, key=rank_of, default="platform")


def filled(text: str, values: Mapping[str, str]) -> str:
    """``text`` with its placeholders filled; other braces, and braces in values, are words."""
    return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), text)


def standing(contribution: Text) -> tuple[int, int, str, str]:
    """The key that orders contributions of one group: priority, owner, id (R63)."""
    rank = _OWNER_RANK[contribution.owner]
    return -contribution.priority, rank, contribution.id, contribution.version
