"""SystemPromptCheckpoint: which sections of the system string changed, and when (R70 to R75).

Sections come from the composer, by name; nothing ever takes a rendered string apart (R71). From the
checkpoints of a session the exact system string of each of its requests is rebuilt (R72).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from greenroom.protocol.errors import BrokenMetadata

NamedSections: TypeAlias = Sequence[tuple[str, str]]
"""Sections of a system string in order: (name, text); no name stands twice."""

_BETWEEN: Final = "\n\n"


class SystemPromptCheckpoint(msgspec.Struct, frozen=True, omit_defaults=True):
    """What differs from the last dispatched system string.

    The first one of a session holds all sections. It promises nothing about what is sent
    incrementally or read from a cache (R74).
    """

    message_count: int
    """Conversation messages up to and with the request that was dispatched."""
    timestamp: int
    """Milliseconds since 1970, UTC."""
    sections: dict[str, str | None]
    """Changed sections by name; None for a removed one."""
    order: tuple[str, ...] | None = None
    """The names of all sections in order, where the order or the set changed."""


class KeptCheckpoint(msgspec.Struct, frozen=True, omit_defaults=True):
    """A checkpoint as it is stored: a text that stands in the composition is named only (P107).

    So the text of an agent is stored once for all its sessions, and not with each of them.
    """

    message_count: int
    timestamp: int
    sections: dict[str, str | None]
    """Changed sections whose text is not the composition's; None for a removed one."""
    kept: tuple[str, ...] = ()
    """Changed sections that say what the composition of that request says under their name."""
    order: tuple[str, ...] | None = None


def lean(checkpoint: SystemPromptCheckpoint, kept: Mapping[str, str]) -> KeptCheckpoint:
    """The checkpoint without what ``kept``, the composition's texts by section, says as well."""
    named = [name for name, text in checkpoint.sections.items() if text and kept.get(name) == text]
    return KeptCheckpoint(
        checkpoint.message_count,
        checkpoint.timestamp,
        {name: text for name, text in checkpoint.sections.items() if name not in named},
        tuple(named),
        checkpoint.order,
    )


def whole(checkpoint: KeptCheckpoint, kept: Mapping[str, str]) -> SystemPromptCheckpoint:
    """The checkpoint that :func:`lean` was given, from the same composition's texts.

    Raises:
        BrokenMetadata: they do not hold a section that it names.
    """
    try:
        named = {name: kept[name] for name in checkpoint.kept}
    except KeyError as error:
        raise BrokenMetadata(
            f"A prompt checkpoint names the section {error}, which its composition has not."
        ) from None
    return SystemPromptCheckpoint(
        checkpoint.message_count,
        checkpoint.timestamp,
        {**named, **checkpoint.sections},
        checkpoint.order,
    )


def joined(sections: NamedSections) -> str:
    """The system string that these sections make: one blank line between two of them."""
    return _BETWEEN.join([text for _, text in sections])


def checkpoint_between(
    before: NamedSections | None,
    after: NamedSections,
    message_count: int,
    timestamp: int,
) -> SystemPromptCheckpoint | None:
    """What is to be recorded with a request; None if its system string is the last one's (R70).

    Args:
        before: the sections of the last dispatched request; None for a session's first.
        after: those of this one.
        message_count: conversation messages up to and with this request.
        timestamp: milliseconds since 1970, UTC.
    """
    if before == after:
        return None
    old, new = dict(before or ()), dict(after)
    changed: dict[str, str | None] = {
        name: text for name, text in new.items() if old.get(name) != text
    }
    changed.update((name, None) for name in old if name not in new)
    moved = list(old) != list(new)
    if not changed and not moved:
        return None
    return SystemPromptCheckpoint(message_count, timestamp, changed, tuple(new) if moved else None)


def replay(checkpoints: Iterable[SystemPromptCheckpoint]) -> tuple[tuple[str, str], ...]:
    """The sections that stood after the last of ``checkpoints``, in their order (R72).

    Raises:
        BrokenMetadata: they do not follow from one another.
    """
    texts: dict[str, str] = {}
    order: tuple[str, ...] = ()
    for checkpoint in checkpoints:
        for name, text in checkpoint.sections.items():
            if text is None:
                texts.pop(name, None)
            else:
                texts[name] = text
        if checkpoint.order is not None:
            order = checkpoint.order
    if len(order) != len(texts) or any(name not in texts for name in order):
        raise BrokenMetadata(
            "The prompt checkpoints name sections that they do not hold.",
            named=list(order),
            held=list(texts),
        )
    return tuple((name, texts[name]) for name in order)


def replay_text(checkpoints: Iterable[SystemPromptCheckpoint]) -> str:
    """The exact system string that was sent with the last of ``checkpoints`` (R72)."""
    return joined(replay(checkpoints))
