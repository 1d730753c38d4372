"""What is installed: every version that was published, what of it is in use, what was refused.

One immutable value; each change gives another. A version once published is there for good, so a
turn of long ago can be explained; what is in use is the highest version of each id that was not
taken out. The order of installing says nothing (R63): the same declarations make the same prompt.

Who may install, approve or remove is asked of the authority of the contributor's owner, and whose
authority was used is recorded (R135). A refusal that was met while offering something can be read
here, where it was installed, until that version is published (R103).
"""

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import structs

from greenroom.protocol.contribution import of_declaration
from greenroom.protocol.contributor import (
    BUILT_IN,
    OWNERS,
    Declaration,
    Owner,
    ToolFacts,
    standing,
)
from greenroom.protocol.contributor_rules import check_contribution, check_tools
from greenroom.protocol.eager import LeftOut
from greenroom.protocol.encoding import encode_sorted
from greenroom.protocol.errors import Refused, SameName, TooLarge
from greenroom.protocol.limits import DEFAULT_LIMITS, Limits
from greenroom.protocol.placement import rank_of
from greenroom.protocol.refusal import (
    ContributorOverBudget,
    NotAuthorized,
    UnknownContributor,
    VersionTaken,
)
from greenroom.protocol.tokens import TokenCounter, TokenEstimate
from greenroom.protocol.wording import CURRENT, Wording

Act: TypeAlias = Literal["add", "approve", "remove", "switch_off", "switch_on"]

FIXED: Final = ("preamble", "agent", "permissions", "tools", "parameters", "model", "wording")
"""Built-in contributors without which there is no agent: they cannot be switched off."""


class Use(msgspec.Struct, frozen=True):
    """One use of an owner's authority: what is asked of it, and what is recorded (R135)."""

    act: Act
    contributor: str
    """``id@version``; for a switch the id."""
    owner: Owner
    """Whose authority: the contributor's owner's, for a switch the workspace's."""
    by: str
    """Who acted under it."""


Authority: TypeAlias = Callable[[Use], bool]
"""Decides for an owner whether this may be done; pure, for it may be asked again."""

TRUSTED: Final[Mapping[Owner, Authority]] = MappingProxyType(
    {owner: lambda _: True for owner in OWNERS}
)
"""Of whoever every owner trusts, such as who wrote the workspace."""


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """Who installs, whom that is asked of, and how what is installed is measured."""

    by: str
    authorities: Mapping[Owner, Authority]
    """An owner without one allows nothing."""
    counter: TokenCounter = TokenEstimate()
    wording: Wording = CURRENT
    limits: Limits = DEFAULT_LIMITS
    tools: Mapping[str, ToolFacts] | None = None
    """Every tool of the host; None: not known here, so composing looks at them (R149)."""


class NotInstalled(msgspec.Struct, frozen=True):
    """What was offered and refused, or is installed and was left out of a composition (R103)."""

    contributor: str
    code: str
    sentence: str
    """With the figures, if it is over its budget."""


class Installed(msgspec.Struct, frozen=True, kw_only=True):
    """All contributors of a workspace."""

    published: Mapping[str, Declaration] = {}
    """Every version ever, by ``id@version``."""
    removed: frozenset[str] = frozenset()
    """Those that were taken out of use, by ``id@version``."""
    approved: frozenset[str] = frozenset()
    """Runs that may call a tool that writes, by ``id@version`` (R149)."""
    off: frozenset[str] = frozenset()
    """What the workspace switched off, by id, built-in contributors too (R141)."""
    uses: tuple[Use, ...] = ()
    """Whose authority was used for what, in order."""
    refused: tuple[NotInstalled, ...] = ()

    @property
    def active(self) -> tuple[Declaration, ...]:
        """What is in use, switched on or off: of each id the highest version, in standing order."""
        highest: dict[str, Declaration] = {}
        for key, one in self.published.items():
            other = highest.get(one.id)
            if key not in self.removed and (
                other is None or version_order(one.version) > version_order(other.version)
            ):
                highest[one.id] = one
        return tuple(
            sorted(highest.values(), key=lambda one: (rank_of(one.placement), standing(one)))
        )

    def read(self, key: str) -> Declaration:
        """The declaration of that ``id@version``, in use or not (R138).

        Raises:
            UnknownContributor: it was never published.
        """
        try:
            return self.published[key]
        except KeyError:
            raise UnknownContributor(f"No contributor {key!r} was published.", key=key) from None

    def publish(
        self, declaration: Declaration, terms: Terms, *, approve: bool = False
    ) -> "Installed":
        """The same with this version published and in use; published already, it stays one.

        Args:
            declaration: one version of a contributor.
            terms: who installs it, and under whose authority.
            approve: whether it may call a tool that writes, which is asked of the authority too.

        Raises:
            InvalidInput, TooLarge, SameName, WrongPlacement: see :func:`check_contribution`; an id
                is also refused that is another owner's.
            UnknownTool, WritesUnapproved: see :func:`check_tools`, if the host's tools are known.
            ContributorOverBudget: it needs more than its budget as it is rendered (R103).
            VersionTaken: this version is published with other content (R138).
            NotAuthorized: the owner's authority does not allow it (R135).
        """
        check_contribution(declaration, terms.limits)
        key = declaration.key
        self._check(declaration, terms, approved=approve or key in self.approved)
        uses = [Use("add", key, declaration.owner, terms.by)]
        if approve:
            uses.append(Use("approve", key, declaration.owner, terms.by))
        for use in uses:
            ask(use, terms)
        return structs.replace(
            self,
            published=dict(sorted({**self.published, key: declaration}.items())),
            removed=self.removed - {key},
            approved=self.approved | {key} if approve else self.approved,
            uses=(*self.uses, *uses),
            refused=tuple(each for each in self.refused if each.contributor != key),
        )

    def offer(
        self, declaration: Declaration, terms: Terms, *, approve: bool = False
    ) -> "Installed":
        """The same with this version published, or with the refusal to be read in ``refused``."""
        try:
            return self.publish(declaration, terms, approve=approve)
        except Refused as error:
            return self._refusing(NotInstalled(declaration.key, error.code, error.sentence))

    def remove(self, key: str, terms: Terms) -> "Installed":
        """The same with this version out of use; it stays readable.

        Raises:
            UnknownContributor: it is not in use.
            NotAuthorized: the owner's authority does not allow it.
        """
        declaration = self.read(key)
        if key in self.removed:
            raise UnknownContributor(f"The contributor {key!r} is out of use already.", key=key)
        use = Use("remove", key, declaration.owner, terms.by)
        ask(use, terms)
        return structs.replace(self, removed=self.removed | {key}, uses=(*self.uses, use))

    def switch(self, id_: str, terms: Terms, *, on: bool) -> "Installed":
        """The same with a contributor on or off, whichever version of it is in use (R141).

        Raises:
            UnknownContributor: there is none of that id, or it cannot be switched off.
            NotAuthorized: the workspace's authority does not allow it.
        """
        known = {one.id for one in self.published.values()} | set(BUILT_IN)
        if id_ not in known - set(FIXED):
            raise UnknownContributor(f"There is no contributor {id_!r} to be switched.", key=id_)
        use = Use("switch_on" if on else "switch_off", id_, "workspace", terms.by)
        ask(use, terms)
        off = self.off - {id_} if on else self.off | {id_}
        return structs.replace(self, off=off, uses=(*self.uses, use))

    def telling(self, left_out: Iterable[LeftOut]) -> "Installed":
        """The same with what a composition left out to be read in ``refused`` (R103)."""
        told = self
        for each in left_out:
            told = told._refusing(NotInstalled(each.contributor, each.why, each.sentence))
        return told

    def _refusing(self, refusal: NotInstalled) -> "Installed":
        others = (each for each in self.refused if each.contributor != refusal.contributor)
        return structs.replace(self, refused=(*others, refusal))

    def _check(self, declaration: Declaration, terms: Terms, *, approved: bool) -> None:
        if terms.tools is not None:
            check_tools(declaration, terms.tools, approved=approved)
        _check_budget(declaration, terms)
        key, published = declaration.key, self.published
        if key in published:
            if encode_sorted(published[key]) != encode_sorted(declaration):
                raise VersionTaken(f"{key!r} is published with other content.", contributor=key)
        elif len(published) >= terms.limits.contributors_max:
            raise TooLarge(
                f"{len(published):,} contributor versions are published, which is the bound.",
                bound=terms.limits.contributors_max,
            )
        for other in published.values():
            if other.id == declaration.id and other.owner != declaration.owner:
                raise SameName(
                    f"The contributor {declaration.id!r} is owned by the {other.owner}.",
                    names=[declaration.id],
                    owner=other.owner,
                )


def _check_budget(declaration: Declaration, terms: Terms) -> None:
    """What it costs is that of its rendering; names that are filled in later may cost more."""
    made = of_declaration(declaration, {}, terms.counter, terms.wording)
    if not made.fits:
        raise ContributorOverBudget(
            f"{made.key!r} needs {made.tokens:,} tokens as it is rendered; its budget is "
            f"{declaration.budget:,}.",
            contributor=made.key,
            tokens=made.tokens,
            budget=declaration.budget,
        )


def is_allowed(use: Use, terms: Terms) -> bool:
    """What the owner's authority says of it (R135)."""
    authority = terms.authorities.get(use.owner)
    return authority is not None and authority(use)


def ask(use: Use, terms: Terms) -> None:
    """Ask the owner's authority. Raises :class:`NotAuthorized` if it does not allow it (R135)."""
    if not is_allowed(use, terms):
        raise NotAuthorized(
            f"The authority of the owner, the {use.owner}, does not let {use.by!r} do this: "
            f"{use.act.replace('_', ' ')} {use.contributor}.",
            act=use.act,
            contributor=use.contributor,
            owner=use.owner,
            by=use.by,
        )


_Order: TypeAlias = tuple[tuple[int, int, str], ...]


def version_order(version: str) -> tuple[_Order, bool, _Order, str]:
    """Sorts versions: numbers by value, ``1.10`` above ``1.9``, and ``1.0-rc1`` below ``1.0``."""
    release, dash, before = version.partition("-")
    return _parts(release), not dash, _parts(before), version


_PART: Final = re.compile(r"\d+|[^\d.+]+")


def _parts(text: str) -> _Order:
    """The numbers and words of a version; at one place a number stands above a word."""
    found = _PART.findall(text)
    return tuple((1, int(part), "") if part.isdigit() else (0, 0, part) for part in found)
