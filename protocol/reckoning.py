"""What each version of a contributor spent and reached, over the turns of many sessions (R78).

Sessions are taken one after the other and none is kept, so the memory that it takes follows the
number of versions and not that of turns. Beside the turns that a version reached stand the turns of
the same agents that it did not reach, each with what became of them: a comparison and no
experiment, for what else was otherwise in them is not known here.
"""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, TypeAlias

import attrs
import msgspec

from greenroom.protocol.composition import Composition
from greenroom.protocol.contributor import Owner
from greenroom.protocol.errors import TooLarge
from greenroom.protocol.placement import Placement
from greenroom.protocol.shaping import reaching
from greenroom.protocol.spending import kept_spend, owners_in
from greenroom.protocol.tokens import TokenCounter, TokenEstimate
from greenroom.protocol.turn import TurnRecord
from greenroom.protocol.usage import Usage

VERSIONS_MAX: Final = 100_000
"""Versions that are reckoned with at once; a part that is built in has one for each text."""
KEPT_MAX: Final = 256
"""Kept prompts whose counts are remembered."""
_SENT: Final = ("turn", "retry")
"""Causes of requests that hold what shaped the turn."""

Whose: TypeAlias = tuple[Owner | None, Placement | None]


class Outcomes(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of some turns, all together."""

    turns: int = 0
    ends: dict[str, int] = {}
    """How many ended so; ``running``: did not yet."""
    model_calls: int = 0
    tool_calls: int = 0
    usage: Usage = Usage()
    """As the models told it."""
    milliseconds: int = 0
    """Of those that ended."""

    def plus(self, other: "Outcomes", sign: int = 1) -> "Outcomes":
        """The two together; with the sign -1, these without those."""
        names = dict.fromkeys([*self.ends, *other.ends])
        ends = {end: self.ends.get(end, 0) + sign * other.ends.get(end, 0) for end in names}
        return Outcomes(
            self.turns + sign * other.turns,
            {end: count for end, count in ends.items() if count},
            self.model_calls + sign * other.model_calls,
            self.tool_calls + sign * other.tool_calls,
            self.usage + _times(other.usage, sign),
            self.milliseconds + sign * other.milliseconds,
        )


class ContributorSpend(msgspec.Struct, frozen=True):
    """One version of a contributor: what it spent, and what became of the turns that it reached."""

    contributor: str
    """``id@version``."""
    owner: Owner | None
    placement: Placement | None
    sessions: int
    requests: int
    """Those that held it."""
    tokens: int
    """In all of them together, as they are estimated; what of it a cache gave is not known here."""
    bytes: int
    reached: Outcomes
    """A note reaches the turn in which it is told; it is sent again with every later request until
    a summary stands for it."""
    beside: Outcomes
    """Of the turns of the same agents that it did not reach."""


class Reckoning:
    """Takes the turns of one session after the other."""

    def __init__(
        self,
        composition_of: Callable[[str], Composition],
        counter: TokenCounter | None = None,
        *,
        versions_max: int = VERSIONS_MAX,
    ) -> None:
        """Begin with nothing.

        Args:
            composition_of: reads a kept prompt by its digest.
            counter: how tokens are counted; None: by bytes.
            versions_max: how many versions are reckoned with; one more is refused.
        """
        self.sessions = 0
        self._composition_of = composition_of
        self._counter = counter or TokenEstimate()
        self._versions_max = versions_max
        self._versions: dict[str, _Version] = {}
        self._agents: dict[str, Outcomes] = {}
        self._kept: dict[tuple[str, bool], _Kept] = {}

    @property
    def turns(self) -> int:
        """How many turns were taken."""
        return sum(outcomes.turns for outcomes in self._agents.values())

    def take(self, turns: Iterable[TurnRecord]) -> None:
        """Add the turns of one session, from its first: all of them or, on an error, none.

        Raises:
            TooLarge: there are more versions than are reckoned with.
            StoreDamaged: a kept prompt cannot be read.
        """
        session = _Session()
        for turn in turns:
            self._add(session, turn)
        if len(self._versions.keys() | session.versions.keys()) > self._versions_max:
            raise TooLarge(
                f"There are more than {self._versions_max:,} versions of contributors.",
                bound=self._versions_max,
            )
        self.sessions += 1
        for agent, outcomes in session.agents.items():
            self._agents[agent] = self._agents.get(agent, _NONE).plus(outcomes)
        for key, version in session.versions.items():
            version.sessions = 1
            self._versions.setdefault(key, _Version(version.whose)).add(version)

    def spends(self) -> tuple[ContributorSpend, ...]:
        """Every version that was met, the one that spent most first."""
        found = [self._spend(key, each) for key, each in self._versions.items()]
        return tuple(sorted(found, key=lambda one: (-one.tokens, one.contributor)))

    def _spend(self, key: str, version: "_Version") -> ContributorSpend:
        reached, beside = _NONE, _NONE
        for agent, outcomes in version.reached.items():
            reached = reached.plus(outcomes)
            beside = beside.plus(self._agents[agent].plus(outcomes, -1))
        return ContributorSpend(
            key,
            *version.whose,
            version.sessions,
            version.requests,
            version.tokens,
            version.bytes,
            reached,
            beside,
        )

    def _add(self, session: "_Session", turn: TurnRecord) -> None:
        """Count one turn: what its kept prompts, its earlier notes and its own took up."""
        rounds = [call.round for call in turn.model_calls if call.cause in _SENT]
        reached: dict[str, None] = {}
        ends = [*[prompt.round for prompt in turn.prompts[1:]], None]
        for prompt, end in zip(turn.prompts, ends, strict=True):
            kept = self._kept_of(prompt.composition, with_person=turn.with_person)
            session.whose.update(kept.whose)
            held = sum(prompt.round <= r and (end is None or r < end) for r in rounds)
            for share in kept.shares:
                session.count(share, held)
                reached[share.contributor] = None
            session.summarised(prompt.summarised_before)
            for share in session.told.values():
                session.count(share, held)
        for note in turn.notes:
            if note.contributor:
                body = bytes(note.body)
                share = _Share(note.contributor, self._counter.tokens(body), len(body))
                session.tell(turn.ordinal or 0, share, sum(note.round <= r for r in rounds))
                reached[note.contributor] = None
        session.reached(turn.agent, outcomes_of(turn), reached)

    def _kept_of(self, digest: str, *, with_person: bool) -> "_Kept":
        found = self._kept.get((digest, with_person))
        if found is None:
            composition = self._composition_of(digest)
            spent = {each.contributor: each for each in kept_spend(composition, self._counter)}
            shares = [
                _Share(key, spent[key].tokens, spent[key].bytes) if key in spent else _Share(key)
                for key in dict.fromkeys(reaching(composition, with_person=with_person))
            ]
            if len(self._kept) >= KEPT_MAX:
                self._kept.clear()
            found = _Kept(tuple(shares), owners_in(composition))
            self._kept[digest, with_person] = found
        return found


def outcomes_of(turn: TurnRecord) -> Outcomes:
    """What became of one turn."""
    return Outcomes(
        1,
        {turn.end or "running": 1},
        len(turn.model_calls),
        len(turn.calls),
        turn.usage,
        0 if turn.ended is None else turn.ended - turn.started,
    )


def _times(usage: Usage, sign: int) -> Usage:
    return Usage(
        sign * usage.input,
        sign * usage.cache_read,
        sign * usage.cache_write,
        sign * usage.output,
        sign * usage.reasoning,
        None if usage.cost is None else sign * usage.cost,
    )


_NONE: Final = Outcomes()
_NOBODYS: Final[Whose] = (None, None)


class _Share(NamedTuple):
    """What one contributor takes up of a request."""

    contributor: str
    tokens: int = 0
    bytes: int = 0


class _Kept(NamedTuple):
    """A kept prompt as it reaches a turn, with or without a person."""

    shares: tuple[_Share, ...]
    whose: dict[str, Whose]
    """Of all that it was composed with, notes among them."""


@attrs.define(eq=False, slots=True)
class _Version:
    """What was counted of one version."""

    whose: Whose
    sessions: int = 0
    requests: int = 0
    tokens: int = 0
    bytes: int = 0
    reached: dict[str, Outcomes] = attrs.field(factory=dict)
    """By agent."""

    def add(self, other: "_Version") -> None:
        self.sessions += other.sessions
        self.requests += other.requests
        self.tokens += other.tokens
        self.bytes += other.bytes
        for agent, outcomes in other.reached.items():
            self.reached[agent] = self.reached.get(agent, _NONE).plus(outcomes)


@attrs.define(eq=False, slots=True)
class _Session:
    """What was counted of one session, until it is added to the others."""

    versions: dict[str, _Version] = attrs.field(factory=dict)
    agents: dict[str, Outcomes] = attrs.field(factory=dict)
    whose: dict[str, Whose] = attrs.field(factory=dict)
    told: dict[str, _Share] = attrs.field(factory=dict)
    """By contributor, the notes that are sent again with every request."""
    notes: list[tuple[int, _Share]] = attrs.field(factory=list)
    """Each of these, by the ordinal with which its turn began."""
    before: int = 0
    """Ordinal in front of which a summary stands."""

    def count(self, share: _Share, requests: int, *, again: bool = False) -> None:
        version = self.version(share.contributor)
        version.requests += 0 if again else requests
        version.tokens += share.tokens * requests
        version.bytes += share.bytes * requests

    def tell(self, ordinal: int, share: _Share, requests: int) -> None:
        self.count(share, requests, again=share.contributor in self.told)
        self.notes.append((ordinal, share))
        self._sent_again(share)

    def summarised(self, before: int) -> None:
        """A summary stands for what was told in turns before: it is sent no more (R106)."""
        if before == self.before:
            return
        self.before, self.told = before, {}
        self.notes = [(ordinal, share) for ordinal, share in self.notes if ordinal >= before]
        for _, share in self.notes:
            self._sent_again(share)

    def _sent_again(self, share: _Share) -> None:
        before = self.told.get(share.contributor, _Share(share.contributor))
        tokens, size = share.tokens + before.tokens, share.bytes + before.bytes
        self.told[share.contributor] = _Share(share.contributor, tokens, size)

    def reached(self, agent: str, outcomes: Outcomes, versions: Iterable[str]) -> None:
        self.agents[agent] = self.agents.get(agent, _NONE).plus(outcomes)
        for key in versions:
            before = self.version(key).reached
            before[agent] = before.get(agent, _NONE).plus(outcomes)

    def version(self, key: str) -> _Version:
        found = self.versions.get(key)
        if found is None:
            found = self.versions[key] = _Version(self.whose.get(key, _NOBODYS))
        return found
