"""How a stored conversation is printed: entry by entry, each turn closed by its record."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final

from rich.console import Console

from greenroom.actors.cli.words import counted, moment, plain, short
from greenroom.actors.cli.wrapping import wrapped
from greenroom.protocol.errors import StoreDamaged
from greenroom.protocol.message import AssistantMessage, ImagePart, Part, ToolMessage
from greenroom.protocol.rebuild import composition_from
from greenroom.protocol.shaping import shaped
from greenroom.protocol.state import SessionSummary
from greenroom.protocol.transcript import TranscriptEntry
from greenroom.protocol.turn import TurnRecord

Blob = Callable[[str], bytes | None]

LINES_SHOWN: Final = 8
"""Lines of a tool's result, unless all of it is asked for."""
ARGUMENTS_SHOWN: Final = 100
INDENT: Final = 2
REVISION_SHOWN: Final = 8


def print_conversation(
    console: Console,
    summary: SessionSummary,
    entries: Sequence[TranscriptEntry],
    turns: Iterable[TurnRecord],
    blob: Blob,
    *,
    full: bool,
) -> None:
    """Print everything that was said, and what shaped each turn."""
    _head(console, summary)
    records = {turn.turn: turn for turn in turns}
    before: TurnRecord | None = None
    for index, entry in enumerate(entries):
        record = records.get(entry.turn or 0)
        _entry(console, entry, record, full=full)
        following = entries[index + 1] if index + 1 < len(entries) else None
        if record is not None and (following is None or following.turn != entry.turn):
            for line in wrapped(console, _turn(record, before, blob)):
                console.print(line, style="dim")
            console.print()
            before = record


def _head(console: Console, summary: SessionSummary) -> None:
    told = [f"agent {summary.agent}"]
    if summary.person is not None:
        told.append(f"person {summary.person}")
    told += [f"preset {summary.preset}", summary.phase]
    console.print(plain(summary.session.key), style="bold")
    if summary.title is not None:
        console.print(plain(summary.title))
    console.print(plain(" · ".join(told)))
    console.print(
        f"created {moment(summary.created)} UTC · {counted(summary.turns, 'turn')}"
        f" · {counted(summary.messages, 'message')}"
    )
    console.print()


def _entry(
    console: Console, entry: TranscriptEntry, record: TurnRecord | None, *, full: bool
) -> None:
    console.print(plain(_title(entry, record)), style="bold")
    if entry.reason:
        _indented(console, f"(not sent: {entry.reason.strip()})", "dim")
    message = entry.message
    lines = plain(_words(message.content)).splitlines()
    if isinstance(message, ToolMessage) and not full and len(lines) > LINES_SHOWN:
        left = len(lines) - LINES_SHOWN
        lines = [*lines[:LINES_SHOWN], f"… {counted(left, 'more line')}; --full shows them"]
    _indented(console, "\n".join(lines))
    if isinstance(message, AssistantMessage):
        for call in message.tool_calls:
            arguments = call.function.arguments
            told = plain(arguments) if full else short(arguments, ARGUMENTS_SHOWN)
            console.print(f"  → {plain(call.function.name)} {told}  [{call.id}]")


def _indented(console: Console, text: str, style: str | None = None) -> None:
    for line in wrapped(console, text, INDENT):
        console.print(f"{' ' * INDENT}{line}", style=style)


def _title(entry: TranscriptEntry, record: TurnRecord | None) -> str:
    told: list[str] = [entry.origin]
    if isinstance(entry.message, ToolMessage):
        call = entry.message.tool_call_id
        made = [each for each in (record.calls if record else ()) if each.id == call]
        told += [f"{each.tool} {each.state}" for each in made]
        told.append(f"[{call}]")
    if entry.ordinal is not None:
        told.append(f"message {entry.ordinal}")
    told += [f"${pick.slug}" for pick in entry.picks]
    if entry.mark:
        told.append("steered into this turn" if entry.mark == "absorbed" else entry.mark)
    if entry.at:
        told.append(moment(entry.at))
    return " · ".join(told)


def _words(content: str | Iterable[Part]) -> str:
    """The text, and in its place what is no text."""
    if isinstance(content, str):
        return content
    return "\n".join(_part(part) for part in content)


def _part(part: Part) -> str:
    if isinstance(part, ImagePart):
        return f"[image {part.media_type}, {part.size:,} bytes, {part.digest[:REVISION_SHOWN]}]"
    return getattr(part, "text", f"[{part.__struct_config__.tag} block]")


def _turn(turn: TurnRecord, before: TurnRecord | None, blob: Blob) -> str:
    told = [f"turn {turn.turn}", turn.end or "running"]
    told += [f"({short(turn.reason, ARGUMENTS_SHOWN)})"] if turn.reason else []
    told += [turn.model, turn.preset]
    told += [f"gates {digest[:REVISION_SHOWN]}" for digest in turn.gates if digest]
    told += [counted(len(turn.model_calls), "model call")]
    told += [counted(len(turn.calls), "tool call")] if turn.calls else []
    told += [f"{counted(len(turn.absorbed), 'steer')}"] if turn.absorbed else []
    told += [f"{turn.usage.total:,} tokens"] if turn.usage.total else []
    told += [f"{(turn.ended - turn.started) / 1e3:.1f} s"] if turn.ended is not None else []
    return "\n".join([f"— {' · '.join(told)}", *_shaped(turn, before, blob)])


def shaped_if_kept(turn: TurnRecord, blob: Blob) -> TurnRecord | None:
    """A turn with what its kept prompts hold; None: the store has not all of them."""
    try:
        return shaped(turn, partial(composition_from, blob=blob))
    except StoreDamaged:
        return None


def _shaped(turn: TurnRecord, before: TurnRecord | None, blob: Blob) -> Iterator[str]:
    """What shaped the turn, at its versions, in short where it is as before (R76, R77, P058)."""
    whole = shaped_if_kept(turn, blob)
    if whole is None:
        yield f"  of a kept prompt that is not in the store ({turn.composition[:REVISION_SHOWN]})"
        whole = turn
    skills = [
        f"{use.slug}@{use.revision[:REVISION_SHOWN]}" + (" (picked)" * (use.source == "person"))
        for use in whole.skills
    ]
    yield f"  skills {', '.join(skills) or 'none'}"
    kept = {f"{use.id}@{use.revision}" for use in whole.skills}
    others = [_key(each) for each in whole.contributors if each not in kept]
    if before is not None and _same_prompts(turn, before):
        yield f"  contributors as in turn {before.turn}"
    elif others:
        yield f"  contributors {', '.join(others)}"
    for note in turn.notes:
        yield f"  note, round {note.round}: {_key(note.contributor) or note.kind}"
    for left in whole.left_out:
        yield f"  left out {_key(left.contributor)}: {left.sentence}"


def _same_prompts(turn: TurnRecord, other: TurnRecord) -> bool:
    return (turn.prompts, turn.with_person) == (other.prompts, other.with_person)


def _key(contributor: str) -> str:
    id_, at, version = contributor.rpartition("@")
    return f"{id_}{at}{version[:REVISION_SHOWN]}"
