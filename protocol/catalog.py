"""The catalog of a workspace: every plugin that was ever offered, and what was decided on it.

One immutable value; each decision gives another. A version that is published never changes and
stays readable (R138). Nothing of it is in use before a person approved exactly what was shown
(R163): an approval names the digest of the proposal. In use is, of each plugin, the highest version
that stands; so the order of proposing and approving says nothing of what a prompt is made of.

A later version that asks for no more than the one in use is an update, and stands at once: every
word of it was approved before. One that asks for more waits for an approval of its own, shown as a
difference, and the former stays in use until then (R164, P146).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import structs

from greenroom.protocol.contributor import Owner
from greenroom.protocol.encoding import encode_sorted
from greenroom.protocol.errors import Refused, TooLarge
from greenroom.protocol.identity import check_name
from greenroom.protocol.installed import Terms, Use, ask, is_allowed, version_order
from greenroom.protocol.plugin import FOLDER, Plugin, Proposal
from greenroom.protocol.plugin_difference import Difference, difference
from greenroom.protocol.plugin_rules import proposal_of, proposed
from greenroom.protocol.quoting import PATH_MAX, quoted
from greenroom.protocol.refusal import NotAsShown, UnknownPlugin, VersionTaken

Act: TypeAlias = Literal["propose", "update", "approve", "reject", "remove"]
State: TypeAlias = Literal["proposed", "active", "superseded", "rejected", "removed"]

_STANDS: Final = frozenset(("update", "approve"))
_STATES: Final[Mapping[Act, State]] = MappingProxyType(
    {"propose": "proposed", "reject": "rejected", "remove": "removed"}
)
"""Of what does not stand; the rest is active or superseded."""


class Decision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was done about one version, under which digest, by whom and when."""

    act: Act
    plugin: str
    version: str
    owner: Owner
    """Whose authority it stands under, or would."""
    digest: str
    """Of the proposal that was meant."""
    by: str
    at: int
    """Milliseconds since 1970, UTC."""

    @property
    def key(self) -> str:
        """``id@version`` of the plugin."""
        return f"{self.plugin}@{self.version}"


class InUse(msgspec.Struct, frozen=True):
    """A version that is in use, and the decision by which it stands."""

    plugin: Plugin
    decision: Decision

    @property
    def proposal(self) -> Proposal:
        """All that it adds."""
        return proposal_of(self.plugin, self.decision.owner)


class Catalog(msgspec.Struct, frozen=True, kw_only=True):
    """All plugins of a workspace."""

    published: Mapping[str, Plugin] = {}
    """Every version that was ever offered, by ``id@version``."""
    decisions: tuple[Decision, ...] = ()
    """In order; the last one about a version holds."""

    @property
    def active(self) -> tuple[InUse, ...]:
        """What is in use: of each plugin the highest version that stands, by id."""
        found = (self._highest(id_) for id_ in sorted({one.plugin for one in self.decisions}))
        return tuple(one for one in found if one is not None)

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that were approved with what is in use."""
        return tuple(sorted({host for one in self.active for host in one.plugin.manifest.hosts}))

    @property
    def states(self) -> dict[str, State]:
        """Of every version, by ``id@version`` in the order of ids and versions."""
        in_use = {one.plugin.key for one in self.active}
        last = sorted(
            self._last().items(), key=lambda each: (each[1].plugin, version_order(each[1].version))
        )
        return {
            key: "active" if key in in_use else _STATES.get(one.act, "superseded")
            for key, one in last
        }

    def read(self, key: str) -> Plugin:
        """The version of that ``id@version``, in use or not (R138).

        Raises:
            UnknownPlugin: it was never offered.
        """
        try:
            return self.published[key]
        except KeyError:
            raise _unknown(key) from None

    def decision(self, key: str) -> Decision:
        """The last one about a version. Raises :class:`UnknownPlugin`."""
        last = self._last().get(key)
        if last is None:
            raise _unknown(key)
        return last

    def proposal(self, key: str) -> Proposal:
        """What was last proposed of a version. Raises :class:`UnknownPlugin`."""
        return proposal_of(self.read(key), self.decision(key).owner)

    def difference(self, key: str) -> Difference | None:
        """What a version asks otherwise than :meth:`former`; None if there is none (R164).

        Raises:
            UnknownPlugin: it was never offered.
        """
        before = self.former(key)
        return None if before is None else difference(before.proposal, self.proposal(key))

    def former(self, key: str) -> InUse | None:
        """The version that is in use but for this one: the highest other one that stands.

        Raises:
            UnknownPlugin: it was never offered.
        """
        return self._highest(self.decision(key).plugin, but=key)

    def propose(self, plugin: Plugin, terms: Terms, *, owner: Owner, at: int) -> "Catalog":
        """The same with a version offered, and in use if it is an update that asks for no more.

        Args:
            plugin: one version.
            terms: who proposes it; the authority of its owner is asked only of an update.
            owner: whose it would be.
            at: now, in milliseconds since 1970, UTC.

        Raises:
            Refused: see :func:`greenroom.protocol.plugin_rules.proposed`.
            VersionTaken: this version, or a contributor's in it, is published with other content;
                or it stands already and is another owner's (R138).
            TooLarge: as many versions as may be were offered.
        """
        proposal = proposed(plugin, owner, terms)
        self._refuse_changed(plugin, terms)
        last = self._last().get(plugin.key)
        # Of a version whose content was lost the digest is still known.
        if last is not None and last.owner == owner and last.digest != proposal.digest:
            raise _taken(plugin.key)
        if last is not None and last.act in _STANDS and last.owner != owner:
            raise VersionTaken(
                f"{plugin.key!r} is in use, and is the {last.owner}'s.",
                way_out="Remove it before it is proposed as another's, or propose another version.",
                plugin=plugin.key,
            )
        if (
            last is not None
            and last.digest == proposal.digest
            and last.act in {"propose", *_STANDS}
        ):
            return self
        is_new = last is None or last.act == "propose"
        acts: list[Act] = ["propose"]
        if is_new and self._is_update(proposal, terms):
            acts.append("update")
        return structs.replace(
            self,
            published=dict(sorted({**self.published, plugin.key: plugin}.items())),
            decisions=(*self.decisions, *(_decided(act, proposal, terms, at) for act in acts)),
        )

    def approve(self, key: str, digest: str, terms: Terms, *, at: int) -> "Catalog":
        """The same with a proposal approved, of which exactly this digest was shown (R163).

        Raises:
            UnknownPlugin: it is not proposed.
            NotAsShown: the digest is another.
            Refused: it may not be installed any more; see
                :func:`greenroom.protocol.plugin_rules.proposed`.
            NotAuthorized: the owner's authority does not allow it (R135).
        """
        last = self.decision(key)
        if last.act in _STANDS and last.digest == digest:
            return self
        if last.act != "propose":
            raise UnknownPlugin(f"{key!r} is not proposed: {self.states[key]}.", key=key)
        proposal = proposed(self.read(key), last.owner, terms)
        if not digest == last.digest == proposal.digest:
            raise NotAsShown(
                f"{key!r} is proposed with the digest {proposal.digest}, not {quoted(digest)}.",
                plugin=key,
                digest=proposal.digest,
            )
        ask(_use("approve", proposal, terms), terms)
        return self._and(_decided("approve", proposal, terms, at))

    def reject(self, key: str, terms: Terms, *, at: int) -> "Catalog":
        """The same with a proposal rejected; it stays readable, and may be proposed again.

        Raises:
            UnknownPlugin: it is not proposed.
            NotAuthorized: the owner's authority does not allow it.
        """
        return self._without("reject", {"propose"}, key, terms, at)

    def remove(self, key: str, terms: Terms, *, at: int) -> "Catalog":
        """The same with a version out of use; the highest one below it that stands is used again.

        Raises:
            UnknownPlugin: it does not stand.
            NotAuthorized: the owner's authority does not allow it.
        """
        return self._without("remove", _STANDS, key, terms, at)

    def faults(self) -> dict[str, str]:
        """What is not as it was decided, by ``id@version``: of a catalog that others write too."""
        found: dict[str, str] = {}
        for key, one in self._last().items():
            if one.act not in _STANDS and one.act != "propose":
                continue
            if key not in self.published:
                found[key] = "It was proposed, and is not there."
                continue
            try:
                if self.proposal(key).digest != one.digest:
                    found[key] = "It is not what was proposed; a published version never changes."
            except Refused as error:
                found[key] = error.sentence
        return found

    # --- inside ----------------------------------------------------------------------------------

    def _and(self, decision: Decision) -> "Catalog":
        return structs.replace(self, decisions=(*self.decisions, decision))

    def _last(self) -> dict[str, Decision]:
        return {one.key: one for one in self.decisions}

    def _highest(self, plugin: str, *, but: str = "") -> InUse | None:
        """Of one plugin the highest version that stands."""
        standing = (
            one
            for key, one in self._last().items()
            if one.plugin == plugin and one.act in _STANDS and key in self.published and key != but
        )
        one = max(standing, key=lambda each: version_order(each.version), default=None)
        return None if one is None else InUse(self.published[one.key], one)

    def _is_update(self, proposal: Proposal, terms: Terms) -> bool:
        before = self._highest(proposal.plugin)
        return (
            before is not None
            and version_order(proposal.version) > version_order(before.plugin.version)
            and not difference(before.proposal, proposal).asks_more
            and is_allowed(_use("add", proposal, terms), terms)
        )

    def _refuse_changed(self, plugin: Plugin, terms: Terms) -> None:
        known = self.published.get(plugin.key)
        if known is None and len(self.published) >= terms.limits.plugins_max:
            raise TooLarge(
                f"{len(self.published):,} versions of plugins were offered, which is the bound.",
                bound=terms.limits.plugins_max,
            )
        if known is not None and encode_sorted(known) != encode_sorted(plugin):
            raise _taken(plugin.key)
        mine = _by_version(plugin)
        for other in self.published.values():
            if other.id != plugin.id:
                continue
            for key, content in _by_version(other).items():
                if mine.get(key, content) != content:
                    raise VersionTaken(
                        f"The contributor {key!r} is published with other content in "
                        f"{other.key!r}.",
                        plugin=plugin.key,
                        contributor=key,
                    )

    def _without(
        self, act: Act, from_: frozenset[str] | set[str], key: str, terms: Terms, at: int
    ) -> "Catalog":
        last = self.decision(key)
        if last.act not in from_:
            raise UnknownPlugin(f"{key!r} cannot be taken out: it is {self.states[key]}.", key=key)
        ask(Use("remove", f"{FOLDER}/{key}", last.owner, terms.by), terms)
        return self._and(structs.replace(last, act=act, by=_decider(terms), at=at))


def _decided(act: Act, proposal: Proposal, terms: Terms, at: int) -> Decision:
    return Decision(
        act,
        proposal.plugin,
        proposal.version,
        proposal.owner,
        proposal.digest,
        _decider(terms),
        at,
    )


def _decider(terms: Terms) -> str:
    return check_name(terms.by, "name of who decides", terms.limits)


def _taken(key: str) -> VersionTaken:
    return VersionTaken(f"{key!r} is published with other content.", plugin=key)


def _unknown(key: str) -> UnknownPlugin:
    return UnknownPlugin(f"No plugin {quoted(key, PATH_MAX)} was proposed.", key=key)


def _use(act: Literal["add", "approve"], proposal: Proposal, terms: Terms) -> Use:
    return Use(act, f"{FOLDER}/{proposal.key}", proposal.owner, terms.by)


def _by_version(plugin: Plugin) -> dict[str, bytes]:
    """Its contributors by ``id@version``, each as the bytes of what it says."""
    return {
        f"{plain['id']}@{plain.get('version')}": encode_sorted(plain)
        for plain in plugin.manifest.contributors
    }
