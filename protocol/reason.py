"""Why a piece of one request is not as it is in another (R197).

It follows from what the two were made of, never from what the bytes look like: two agents, persons
or presets, what moved between their kept prompts, and where their messages came from.
"""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

from greenroom.protocol.composition import PERMISSIONS
from greenroom.protocol.movement import Moved, Movement, What
from greenroom.protocol.pieces import Piece, tool_names
from greenroom.protocol.placement import PLACEMENTS, rank_of
from greenroom.protocol.projection import Origin, Source
from greenroom.protocol.rebuild import SentRequest

Why: TypeAlias = Literal[
    "equal",  # the same bytes
    "longer",  # nothing moved: one goes on where the other ends
    "model",  # they are for two models
    "agent",  # of two agents
    "person",  # for two persons, or one for nobody
    "preset",  # another preset is in force
    "composed",  # composed anew, of what stood otherwise then
    "edited",  # other words, and nothing that has a version moved
    "tool",  # a tool declared otherwise
    "parameters",
    "projected",  # the same message, shown otherwise under another kept prompt
    "note",
    "eager",
    "compaction",
    "legacy_context",
    "tool_repair",
    "conversation",  # of two conversations, each with its own words
    "history",  # another message of the same conversation
]
"""Why the first byte that differs does."""

_VERSION_SHOWN: Final = 12
"""Of a version, which may be a digest, in a sentence."""


class Pair(NamedTuple):
    """Two requests, and what holds the first byte that differs in each."""

    first: SentRequest
    second: SentRequest
    left: Piece
    right: Piece
    moved: Movement

    @property
    def two_agents(self) -> bool:
        """Whether their sessions are of two agents."""
        return self.first.agent != self.second.agent

    @property
    def two_persons(self) -> bool:
        """Whether another person's part was sent, or none."""
        return self.first.person != self.second.person


class Reason(NamedTuple):
    """Why, in a word and in a sentence, and the piece that moved."""

    why: Why
    sentence: str
    part: Piece
    cause: Moved | None = None


def reason_of(pair: Pair) -> Reason:
    """Why the two differ where they first do."""
    kinds = {pair.left.kind, pair.right.kind}
    if "section" in kinds:
        return _of_section(pair)
    if "tool" in kinds:
        return _of_tools(pair)
    if "message" in kinds:
        return _of_messages(pair)
    if "model" in kinds:
        models = f"{pair.first.request.model}, then {pair.second.request.model}"
        cause = _moved(pair, "part", "model")
        return Reason("model", f"They are for two models: {models}.", pair.right, cause)
    if pair.two_agents:
        return _of_agents(pair, pair.right)
    cause = _moved(pair, "part", "parameters")
    return Reason("parameters", "The agent's parameters are others.", pair.right, cause)


def _of_agents(pair: Pair, part: Piece) -> Reason:
    sentence = f"They are of two agents: {pair.first.agent}, then {pair.second.agent}."
    return Reason("agent", sentence, part)


# --- the system string and the tools --------------------------------------------------------------


def _of_section(pair: Pair) -> Reason:
    part = _section_that_moved(pair)
    cause = _cause(pair, part)
    if pair.left.name == pair.right.name == PERMISSIONS:
        before, after = pair.first.preset, pair.second.preset
        if before != after:
            return Reason("preset", f"Another preset is in force: {before}, then {after}.", part)
    elif part.placement == "agent" and pair.two_agents:
        return _of_agents(pair, part)
    elif part.placement == "person" and pair.two_persons:
        before, after = pair.first.person or "nobody", pair.second.person or "nobody"
        return Reason("person", f"They are for two persons: {before}, then {after}.", part, cause)
    return _composed(pair, part, cause)


def _section_that_moved(pair: Pair) -> Piece:
    """Of the two at the place what is known to have moved; of both what is shared more widely.

    The other one would not stand there otherwise: what a wider part does moves all behind it.
    """
    names = dict(pair.first.sections), dict(pair.second.sections)
    both = [(pair.right, names[0]), (pair.left, names[1])]
    sections = [(piece, others) for piece, others in both if piece.kind == "section"]
    absent = [piece for piece, others in sections if piece.name not in others]
    changed = [piece for piece, _ in sections if _cause(pair, piece)]
    return min([*absent, *changed] or [sections[0][0]], key=_width)


def _width(piece: Piece) -> int:
    return len(PLACEMENTS) if piece.placement is None else rank_of(piece.placement)


def _cause(pair: Pair, part: Piece) -> Moved | None:
    """How the contributor of a section moved."""
    what: What = "skill" if part.name.startswith("skill:") else "contributor"
    return _moved(pair, what, part.contributor.rpartition("@")[0])


def _moved(pair: Pair, what: What, id_: str) -> Moved | None:
    moved = (*pair.moved.added, *pair.moved.removed, *pair.moved.changed)
    return next((each for each in moved if (each.what, each.id) == (what, id_)), None)


def _composed(pair: Pair, part: Piece, cause: Moved | None) -> Reason:
    cause = cause or _moved(pair, "part", "wording")
    if cause is not None and cause.before == cause.after:
        said = f"{cause.id} says something else under the same version, {_short(cause.after)}"
        return Reason("edited", f"{said}: what is filled into it differs.", part, cause)
    if cause is not None:
        return Reason("composed", f"The prompt was composed anew: {_said(cause)}.", part, cause)
    if pair.moved.reordered:
        sentence = "The prompt was composed anew: its parts stand in another order."
        return Reason("composed", sentence, part)
    sentence = f"The words of {part.name} are others, and nothing that has a version moved."
    return Reason("edited", sentence, part)


def _said(moved: Moved) -> str:
    named = f"the {moved.what} {moved.id}"
    if not moved.before:
        return f"{named} was added, version {_short(moved.after)}"
    if not moved.after:
        return f"{named} was taken away, version {_short(moved.before)}"
    return f"{named} has version {_short(moved.after)}, and had {_short(moved.before)}"


def _short(version: str) -> str:
    return version[:_VERSION_SHOWN]


def _of_tools(pair: Pair) -> Reason:
    left, right = pair.left, pair.right
    if pair.two_agents:
        return _of_agents(pair, right if right.kind == "tool" else left)
    cause = _moved(pair, "part", "tools")
    before, after = (tool_names(each.request.tools) for each in (pair.first, pair.second))
    if right.name in after and right.name not in before:
        return Reason("tool", f"The tool {right.name} is declared since.", right, cause)
    if left.name in before and left.name not in after:
        return Reason("tool", f"The tool {left.name} is declared no more.", left, cause)
    part = right if right.kind == "tool" else left
    named = f"The tool {part.name} is" if part.name in after else "The tools are"
    return Reason("tool", f"{named} declared otherwise.", part, cause)


# --- messages -------------------------------------------------------------------------------------

_BESIDE: Final[Mapping[Origin, str]] = {
    "compaction": "A summary of what came before",
    "legacy_context": "A context of an earlier version",
    "tool_repair": "A mended message of an imported history",
    "eager": "An eager exchange",
    "note": "A note",
}
"""Origins of what is no message as it was said, and what each is called."""
_ORDER: Final = tuple(_BESIDE)
"""If both have one, the first of these is named: it is the wider, or was there before."""


def _of_messages(pair: Pair) -> Reason:
    left, right = pair.left, pair.right
    if left.kind != right.kind:
        return _goes_on(pair)
    beside = [
        (_ORDER.index(piece.origin), piece, which)
        for piece, which in ((right, "second"), (left, "first"))
        if piece.origin in _BESIDE
    ]
    if beside:
        return _of_beside(pair, *min(beside, key=lambda each: each[0])[1:])
    shown = _shown_otherwise(*_sources(pair))
    if shown:
        sentence = f"The same message is shown otherwise: where the body of {shown} stands."
        return Reason("projected", sentence, right)
    if pair.first.session != pair.second.session:
        sentence = "They are of two conversations: from here on each has its own messages."
        return Reason("conversation", sentence, right)
    if left.message == right.message:
        sentence = "The same message is projected otherwise, under another kept prompt."
        return Reason("projected", sentence, right)
    sentence = f"Another message of the conversation: {left.message}, then {right.message}."
    return Reason("history", sentence, right)


def _of_beside(pair: Pair, part: Piece, which: str) -> Reason:
    """A note, a summary or the like, which one of them has at the place, or each another."""
    origin = part.origin
    assert origin is not None
    assert origin != "history"
    by = f" of {part.contributor}" if part.contributor else ""
    where = "another in each" if pair.left.origin == pair.right.origin else f"in the {which}"
    return Reason(origin, f"{_BESIDE[origin]}{by} stands here, {where}.", part)


def _goes_on(pair: Pair) -> Reason:
    """One ends where the other has a message more."""
    lengths = len(pair.first.request.messages), len(pair.second.request.messages)
    more = abs(lengths[1] - lengths[0])
    which, part = ("second", pair.right) if pair.right.kind == "message" else ("first", pair.left)
    other = "first" if which == "second" else "second"
    messages = "1 message" if more == 1 else f"{more:,} messages"
    sentence = f"Nothing moved: the {which} goes on where the {other} ends, by {messages}."
    return Reason("longer", sentence, part)


def _sources(pair: Pair) -> tuple[Source, Source]:
    assert pair.left.place is not None
    assert pair.right.place is not None
    return pair.first.sources[pair.left.place], pair.second.sources[pair.right.place]


def _shown_otherwise(one: Source, other: Source) -> str:
    """The skills of a message that both have, whose bodies stand elsewhere in each."""
    before, after = one.expansion, other.expansion
    if before is None or after is None or before.ids != after.ids or before.shown == after.shown:
        return ""
    differing = zip(before.ids, before.shown, after.shown, strict=True)
    return ", ".join(id_ for id_, was, is_ in differing if was != is_)
