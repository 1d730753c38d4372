"""From what is stored to what the model is sent, and the map between them.

Projecting one message is a pure function of its stored bytes, its snapshot and picks, and the kept
prompt: no file, source, clock or registry is read, so a retry, a later turn and a compaction see
the same bytes (R34). A message without a snapshot is sent as it is stored, untouched (R30).

Records decide what is shown. A tag, a label or a marker in anybody's text decides nothing (R4).
"""

from collections.abc import Collection, Sequence
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import structs

from greenroom.protocol.command import Pick
from greenroom.protocol.composition import Composition, skill_heading
from greenroom.protocol.encoding import decode_message, encode_message
from greenroom.protocol.errors import StoreDamaged
from greenroom.protocol.identity import SkillId, TurnId
from greenroom.protocol.message import (
    AssistantMessage,
    Content,
    OpaquePart,
    Part,
    TextPart,
    UserMessage,
    text_of,
)
from greenroom.protocol.runtime_context import RuntimeContextSnapshot
from greenroom.protocol.skill import PinnedSkill, render_block
from greenroom.protocol.turn import SkillUse
from greenroom.protocol.wording import Wording, one_line, wording_of

Origin: TypeAlias = Literal[
    "history", "legacy_context", "note", "eager", "compaction", "tool_repair"
]
"""Where a message of a request comes from (R45)."""


class SkillExpansion(msgspec.Struct, frozen=True, gc=False):
    """What a snapshot added to one user message (R45)."""

    user_turn: int
    """The ordinal of the message, which is the anchor of its snapshot."""
    ids: tuple[SkillId, ...]
    revisions: tuple[str, ...]
    shown: tuple[bool, ...]
    """Whether the body stands in the message; else it stands in the kept prompt."""


class Source(msgspec.Struct, frozen=True, gc=False):
    """The origin of one message of a request."""

    origin: Origin
    message: int | None = None
    """Its place among the conversation's messages; None for what is not one of them."""
    expansion: SkillExpansion | None = None
    turn: TurnId | None = None
    """The turn in which it came; None: it was imported."""
    contributor: str = ""
    """``id@version`` of what declared it, if it is no message of the conversation."""


class ProjectionMap(msgspec.Struct, frozen=True, gc=False):
    """``sources[i]`` is the origin of message i of a request; never stored or sent (R46, R47)."""

    sources: tuple[Source, ...]


WITHDRAWN: Final = "[withdrawn]"
"""What is shown of a skill instead of its body, where its revision was withdrawn (R159)."""


def project_user(
    body: bytes,
    snapshot: RuntimeContextSnapshot | None,
    picks: tuple[Pick, ...],
    composition: Composition,
    withdrawn: Collection[str] = (),
) -> bytes:
    """A user message as the model is sent it: blocks, the person's words, the invocation note.

    Text stays one text, blocks stay blocks (R31, R32). A skill's body is shown unless the prompt
    was composed with that revision (R37, R38).

    Args:
        body: the stored message.
        snapshot: what was pinned with it; None leaves the bytes as they are.
        picks: what the person picked, by the names of then; the note uses these (R22).
        composition: the kept prompt with which it is sent.
        withdrawn: revisions of skills of which nothing is shown any more; the snapshot keeps them.
    """
    if snapshot is None or snapshot.placement is None:
        return body
    message = decode_message(body)
    if not isinstance(message, UserMessage):
        raise StoreDamaged("A context snapshot is anchored to a message that is no user message.")
    wording = wording_of(composition.wording)
    skills = snapshot.skills
    if withdrawn:
        skills = tuple([_without_withdrawn(each, composition, withdrawn) for each in skills])
    shown = [skill for skill in skills if not composition.holds(skill)]
    blocks = "\n\n".join([render_block(skill, wording) for skill in shown])
    alone = not text_of(message.content).strip()
    note = _invocation_note(skills, picks, composition, wording, alone=alone)
    return encode_message(UserMessage(_expanded(message.content, blocks, note)))


def _without_withdrawn(
    skill: PinnedSkill, composition: Composition, withdrawn: Collection[str]
) -> PinnedSkill:
    if skill.revision not in withdrawn or composition.holds(skill):
        return skill
    return structs.replace(skill, body=WITHDRAWN, reference=None, paths=())


def expansion_of(
    snapshot: RuntimeContextSnapshot | None,
    composition: Composition,
    withdrawn: Collection[str] = (),
) -> SkillExpansion | None:
    """What :func:`project_user` adds to the snapshot's message, for the map (R45)."""
    if snapshot is None or snapshot.placement is None:
        return None
    return SkillExpansion(
        snapshot.user_turn,
        tuple(skill.id for skill in snapshot.skills),
        tuple(skill.revision for skill in snapshot.skills),
        tuple(
            not composition.holds(skill) and skill.revision not in withdrawn
            for skill in snapshot.skills
        ),
    )


def legacy_message(snapshot: RuntimeContextSnapshot) -> bytes:
    """A version-2 snapshot as the user-position message behind its anchor that it was (R43)."""
    return encode_message(UserMessage(snapshot.content))


def project_assistant(body: bytes, model: str) -> bytes:
    """An assistant message as ``model`` is sent it: opaque blocks of other models left out whole.

    Empty bytes mean that nothing is left to send, so the message is left out (R176, R182).
    """
    if body.startswith(_PLAIN) or _OPAQUE not in body:
        return body
    message = decode_message(body)
    if not isinstance(message, AssistantMessage) or isinstance(message.content, str):
        return body
    kept = tuple(
        part for part in message.content if not isinstance(part, OpaquePart) or part.model == model
    )
    if len(kept) == len(message.content):
        return body
    if not kept and not message.tool_calls:
        return b""
    return encode_message(structs.replace(message, content=kept or ""))


def is_sendable(body: bytes) -> bool:
    """Whether no provider would refuse the message for being empty, in whole or in part (R182)."""
    if not body:
        return False
    message = decode_message(body)
    if isinstance(message, UserMessage):
        return _says_something(message.content)
    if isinstance(message, AssistantMessage):
        return _says_something(message.content) if message.content else bool(message.tool_calls)
    return bool(message.tool_call_id)


def skills_used(
    composition: Composition, snapshot: RuntimeContextSnapshot | None
) -> tuple[SkillUse, ...]:
    """The skills that shape a turn, at the versions that do: the record's ``skills`` (R76)."""
    picked = snapshot.skills if snapshot else ()
    return (
        *(SkillUse(s.id, s.slug, s.revision, "composition") for s in composition.skills),
        *(SkillUse(s.id, s.slug, s.revision, "person") for s in picked),
    )


_PLAIN: Final = b'{"role":"assistant","content":"'
"""How an answer begins that we encoded and that is one text: no need to look further."""
_OPAQUE: Final = b'"opaque"'
"""In every message with an opaque block; in other texts its quotes are escaped."""


def _says_something(content: Content) -> bool:
    if isinstance(content, str):
        return bool(content.strip())
    blank = any(isinstance(part, TextPart) and not part.text.strip() for part in content)
    return bool(content) and not blank


def _expanded(content: Content, blocks: str, note: str) -> Content:
    """The person's content between blocks and note, in the shape that it has."""
    if isinstance(content, str):
        words = content if content.strip() else ""
        return "\n\n".join([part for part in (blocks, words, note) if part])
    before: tuple[Part, ...] = (TextPart(blocks),) if blocks else ()
    return (*before, *content, TextPart(note))


def _invocation_note(
    skills: Sequence[PinnedSkill],
    picks: Sequence[Pick],
    composition: Composition,
    wording: Wording,
    *,
    alone: bool,
) -> str:
    """The note behind the words: what was invoked, and where its instructions stand (R35, R200)."""
    picked = {pick.id: one_line(pick.name) for pick in picks}
    names = [picked.get(skill.id, one_line(skill.name)) for skill in skills]
    if len(names) == 1:
        sentence = wording.invoked_one_alone if alone else wording.invoked_one
        parts = [sentence.format(name=names[0])]
    else:
        sentence = wording.invoked_many_alone if alone else wording.invoked_many
        parts = [sentence.format(names=", ".join(f'"{name}"' for name in names))]
    for name, skill in zip(names, skills, strict=True):
        parts += [_where(name, skill, composition, wording), *_files(name, skill, wording)]
    return f"{wording.note_label} " + "\n".join(parts)


def _where(name: str, skill: PinnedSkill, composition: Composition, wording: Wording) -> str:
    """Where the instructions of a skill stand, so that the note never points at nothing."""
    kept = composition.skill(skill.id)
    if kept is not None and kept.revision == skill.revision:
        return wording.under_heading.format(name=name, heading=skill_heading(kept, wording))
    return wording.in_block.format(name=name, location=_location(skill))


def _files(name: str, skill: PinnedSkill, wording: Wording) -> list[str]:
    """The main reference file, read ahead, and the list of the others (R39 to R41)."""
    parts = []
    if (reference := skill.reference) is not None:
        path = _handle(skill, reference.path)
        text = reference.text
        if reference.cut:
            text = f"{text}\n{wording.cut_mark.format(path=path)}"
        parts.append(wording.reference.format(name=name, path=path, text=text))
    if skill.paths:
        paths = "\n".join(
            wording.path_line.format(path=_handle(skill, path)) for path in skill.paths
        )
        parts.append(wording.further_files.format(name=name, paths=paths))
    return parts


def _location(skill: PinnedSkill) -> str:
    return one_line(skill.location or skill.slug)


def _handle(skill: PinnedSkill, path: str) -> str:
    """What ``read_object`` is to be called with for a file of the skill (R40)."""
    return f"{_location(skill)}/{one_line(path)}"
