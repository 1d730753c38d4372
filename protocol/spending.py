"""What each contributor takes up of a request or of a kept prompt, counted when it is asked for.

No turn counts it: it is read from what is stored, by the same rows and the same counter with which
a request is measured before it is sent (R77, R100).
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from greenroom.protocol.budget import request_rows
from greenroom.protocol.composition import Composition, SystemString
from greenroom.protocol.contributor import Owner
from greenroom.protocol.placement import Placement
from greenroom.protocol.rebuild import SentRequest
from greenroom.protocol.tokens import TokenCounter, TokenEstimate, section_tokens

_BYTES: Final = TokenEstimate(1.0)
"""Counts bytes as a request's tokens are counted."""


class PartSpend(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What one part takes up, and whose it is."""

    part: str
    """A section, ``tools``, or a group of messages."""
    tokens: int
    """As the counter estimates them."""
    bytes: int
    contributor: str = ""
    """``id@version``; empty: it is no contributor's."""
    owner: Owner | None = None
    placement: Placement | None = None


_NOBODY: Final = (None, None)


def owners_in(composition: Composition) -> dict[str, tuple[Owner | None, Placement | None]]:
    """Owner and placement of all that a kept prompt was composed with, by ``id@version``."""
    sections = {
        each.contributor: (each.owner, each.placement)
        for each in (*composition.sections, *composition.opening)
    }
    declared = {
        each.key: (each.owner, each.placement) for each in (*composition.eager, *composition.notes)
    }
    return {**sections, **declared}


def spend_of(
    sent: SentRequest, counter: TokenCounter | None = None, *, image_tokens: int = 0
) -> tuple[PartSpend, ...]:
    """Where the bytes and tokens of a request went, by part and contributor, in its order.

    Args:
        sent: from ``Session.request``.
        counter: how tokens are counted; None: by bytes, as for a model that says nothing.
        image_tokens: the model's declared cost of one image; its bytes are no part of a request.
    """
    system = SystemString(tuple(sent.sections), sent.request.system)
    counted, measured = (
        request_rows(
            sent.composition,
            system,
            sent.request.messages,
            each,
            image_tokens=cost,
            sources=sent.sources,
        )
        for each, cost in ((counter or TokenEstimate(), image_tokens), (_BYTES, 0))
    )
    whose = owners_in(sent.composition)
    return tuple(
        PartSpend(row.part, row.tokens, size.tokens, row.owner, *whose.get(row.owner, _NOBODY))
        for row, size in zip(counted, measured, strict=True)
    )


def kept_spend(
    composition: Composition, counter: TokenCounter | None = None
) -> tuple[PartSpend, ...]:
    """What the parts of a kept prompt take up in each request that is sent with all of it."""
    return tuple(_kept(composition, counter or TokenEstimate()))


def _kept(composition: Composition, counter: TokenCounter) -> Iterator[PartSpend]:
    for section in (*composition.sections, *composition.opening):
        yield PartSpend(
            section.name,
            section_tokens(section.text, counter),
            section_tokens(section.text, _BYTES),
            section.contributor,
            section.owner,
            section.placement,
        )
    tools = composition.tools
    yield PartSpend("tools", counter.tokens(tools), len(tools))
