"""A trace: what people, authors and operators do, line by line, in simulated time.

A line is one JSON object. Ours say what was said and what changed (``kind``: prompt, edit, switch,
compact, expire); a message is its text, or how long it is, or the hashes of its blocks. The public
form for prefix caches (``timestamp``, ``input_length``, ``output_length``, ``hash_ids``) is read
too: there a line is a whole request, and no composer has a part in it.
"""

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta

from greenroom.actors.bench.faults import BrokenTrace
from greenroom.actors.bench.filler import words
from greenroom.protocol.identity import DEFAULT_TENANT

BYTES_PER_TOKEN: Final = 4
"""What a length in tokens stands for where no text is given."""
HASHED_BYTES: Final = 63
"""What a hash in a prompt stands for: 16 tokens, with the blank behind them."""
PUBLIC_BLOCK: Final = 512
"""Tokens of a block in the public form, unless the trace says otherwise."""

TOKENS_MAX: Final = 10_000_000
"""Of one message or request in a trace."""

Size: TypeAlias = Annotated[int, Meta(ge=0, le=TOKENS_MAX)]
"""Tokens."""
Part: TypeAlias = Literal["preamble", "agent", "skill", "person", "instructions"]


class _Line(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    tag_field="kind",
):
    at: int
    """Milliseconds of simulated time."""
    tenant: str = DEFAULT_TENANT


class Prompt(_Line, frozen=True, kw_only=True, tag="prompt"):
    """A person's message, and what the model will do with it."""

    session: str
    agent: str
    person: str | None = None
    text: str | None = None
    tokens: Size = 0
    """How long the message is, where neither text nor hashes are given."""
    hashes: tuple[str | int, ...] = ()
    """Hashes of its blocks: equal ones stand for equal text."""
    picks: tuple[str, ...] = ()
    """Ids of skills that were picked with it."""
    results: tuple[Size, ...] = ()
    """Tokens of each tool's result, one model call and one tool each."""
    answer: Size = 1
    """Tokens of the answer."""

    def words(self, number: int) -> str:
        """The message, which is the ``number``-th of its session."""
        if self.text is not None:
            return self.text
        if self.hashes:
            return " ".join(words(f"#{part}", HASHED_BYTES) for part in self.hashes)
        return words(f"{self.session}.{number}", self.tokens * BYTES_PER_TOKEN)


class Edit(_Line, frozen=True, kw_only=True, tag="edit"):
    """Something was published anew; conversations that run go on with what they have."""

    part: Part
    name: str = ""
    """Of the agent, person or skill."""
    text: str


class Switch(_Line, frozen=True, kw_only=True, tag="switch"):
    """A session got another permission preset or another model before its next prompt."""

    session: str
    preset: str | None = None
    model: str | None = None


class Compact(_Line, frozen=True, kw_only=True, tag="compact"):
    """A conversation was compacted: all but its newest turn became a summary."""

    session: str
    summary: Size = 400
    """Tokens of the summary."""


class Expire(_Line, frozen=True, kw_only=True, tag="expire"):
    """The caches of a tenant went cold, as when a provider moves it to other machines."""


class Blocks(_Line, frozen=True, kw_only=True, tag="blocks"):
    """A whole request as the hashes of its blocks."""

    length: Size
    """Tokens of the request; its last block may be partial."""
    hashes: tuple[Annotated[int, Meta(ge=0, lt=2**32)], ...]
    size: Annotated[int, Meta(ge=1, le=TOKENS_MAX)] = PUBLIC_BLOCK
    """Tokens of a block."""


Line: TypeAlias = Prompt | Edit | Switch | Compact | Expire | Blocks

_line: Final = msgspec.json.Decoder(Line)


class _Public(msgspec.Struct):
    timestamp: float
    input_length: Size
    hash_ids: tuple[int, ...]
    output_length: int = 0


_public: Final = msgspec.json.Decoder(_Public)


def read_trace(
    path: Path, *, block: int = PUBLIC_BLOCK, millisecond: float = 1.0
) -> tuple[Line, ...]:
    """Read a trace of either form.

    Args:
        path: JSON lines.
        block: tokens of a block, for the public form.
        millisecond: how much of the public form's ``timestamp`` is one; 0.001 if it is seconds.

    Raises:
        BrokenTrace: the file cannot be read, or a line is of neither form or out of order.
    """
    numbers: dict[int, int] = {}
    try:
        with path.open("rb") as file:
            lines = [
                _read(data, f"{path.name}:{number}", numbers, block, millisecond)
                for number, data in enumerate(file, 1)
                if data.strip()
            ]
    except OSError as error:
        raise BrokenTrace(f"The trace {path} cannot be read: {error.strerror}.") from error
    return checked(lines)


def _read(data: bytes, where: str, numbers: dict[int, int], block: int, millisecond: float) -> Line:
    try:
        if b'"hash_ids"' not in data:
            return _line.decode(data)
        found = _public.decode(data)
    except msgspec.MsgspecError as error:
        raise BrokenTrace(f"{where} is no line of a trace: {error}.", where=where) from error
    return Blocks(
        at=round(found.timestamp / millisecond),
        length=found.input_length,
        # Hashes of any size become small numbers, which stand for them as well.
        hashes=tuple(numbers.setdefault(one, len(numbers) + 1) for one in found.hash_ids),
        size=block,
    )


def write_trace(path: Path, lines: Iterable[Line]) -> None:
    """Write a trace of our form."""
    with path.open("wb") as file:
        for line in lines:
            file.write(msgspec.json.encode(line) + b"\n")


def checked(lines: Iterable[Line]) -> tuple[Line, ...]:
    """The lines, if time never runs back in them and blocks cover their requests.

    Raises:
        BrokenTrace: naming the first line that does not follow.
    """
    known = tuple(lines)
    last = None
    for number, line in enumerate(known, 1):
        if last is not None and line.at < last:
            raise BrokenTrace(f"Line {number} of the trace is earlier than the one before it.")
        last = line.at
        if isinstance(line, Blocks):
            _check_blocks(line, number)
    return known


def _check_blocks(line: Blocks, number: int) -> None:
    covered = len(line.hashes) * line.size
    if not covered - line.size < line.length <= covered:
        raise BrokenTrace(
            f"Line {number} of the trace has {len(line.hashes)} blocks of {line.size} tokens "
            f"for a request of {line.length}.",
            line=number,
        )


def digest_of(lines: Iterable[Line]) -> str:
    """What tells one trace from another: SHA-256 over its lines, hexadecimal."""
    digest = sha256()
    for line in lines:
        digest.update(msgspec.json.encode(line) + b"\n")
    return digest.hexdigest()
