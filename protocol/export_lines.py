"""A session as lines of JSON, to be kept, moved, or read by other programs (R191).

=========  ========================================================================================
line       what it tells
=========  ========================================================================================
head       format and version; whose session it was, and how it stood
commit     the records of one commit, to the byte; and the idempotency keys that it used
content    bytes that the session holds, by their SHA-256, as base64
foot       how many of each, and SHA-256 over all lines before, each with its newline
=========  ========================================================================================

Commits are numbered from 1, contents stand in the order of their digests. So there is one way to
write a session down, and a file that was cut off, altered or put together anew is told by its line.
What it tells is the session's own: exporting it twice gives the same bytes, and so does exporting
what was imported, but where the session knew of withdrawals or recompositions, which are a store's.
No credential is in it, since none is stored (R198).
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Final, Literal, NoReturn, TypeAlias

import msgspec
from msgspec import structs

from greenroom.protocol.encoding import decode_records, encode
from greenroom.protocol.errors import GreenroomError, TooLarge
from greenroom.protocol.header import Header
from greenroom.protocol.identity import SessionId
from greenroom.protocol.limits import DEFAULT_LIMITS, Limits
from greenroom.protocol.quoting import quoted
from greenroom.protocol.record import FORMAT_VERSION, Accepted, AnyRecord
from greenroom.protocol.refusal import BadExport, ExportTooNew

VERSION: Final = 1
"""Of the lines; a reader refuses a higher one by name."""
FORMAT: Final = "greenroom session"
NUMBER_MAX: Final = 2**53
"""What a session counts stays below it: each reader of JSON reads it, and more can be added."""
_KEY_DIGEST_BYTES: Final = 16
_NUL: Final = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
"""NUL as JSON can say it: what no text of a store has (R194)."""


class Withdrawals(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many of a store's withdrawals of skills a session knew of (R159).

    It is told of one that knew of recompositions too: which of those is in its header (R239).
    """

    store: str
    """The incarnation of the store: in another one the numbers say nothing."""
    known: int


class Head(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    tag_field="is",
    tag="head",
    forbid_unknown_fields=True,
    omit_defaults=True,
):
    """The first line."""

    format: Literal["greenroom session"]
    version: int
    records: int
    """The version of what the commits hold."""
    session: SessionId
    header: dict[str, Any]
    """The :class:`Header` by the names of its fields, without what counts in its store alone."""
    withdrawals: Withdrawals | None = None


class CommitLine(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    tag_field="is",
    tag="commit",
    forbid_unknown_fields=True,
    omit_defaults=True,
):
    """One commit of the session."""

    number: int
    keys: dict[str, str] = {}
    """Idempotency keys that its messages used, each with the digest of what was sent (R177)."""
    records: msgspec.Raw


class ContentLine(
    msgspec.Struct, frozen=True, tag_field="is", tag="content", forbid_unknown_fields=True
):
    """Content that the session holds."""

    digest: str
    data: bytes


class Foot(msgspec.Struct, frozen=True, tag_field="is", tag="foot", forbid_unknown_fields=True):
    """The last line."""

    commits: int
    contents: int
    digest: str


Line: TypeAlias = Head | CommitLine | ContentLine | Foot


class ExportedCommit(msgspec.Struct, frozen=True):
    """One commit, as it was and as it is to be again."""

    records: bytes
    keys: Mapping[str, bytes] = {}


class Exported(msgspec.Struct, frozen=True):
    """A session as an export tells it."""

    session: SessionId
    """What it was called where it was exported."""
    header: Header
    commits: tuple[ExportedCommit, ...]
    records: tuple[AnyRecord, ...]
    """Of all commits, in order."""
    contents: Mapping[str, bytes]
    withdrawals: Withdrawals | None = None


# --- the head -------------------------------------------------------------------------------------

_OF_ITS_STORE: Final = frozenset(("open_turn", "parked", "withdrawals"))
"""Fields of a header that say something of one store, or of a turn that is not over."""
_FIELDS: Final = tuple(field.name for field in structs.fields(Header))
_USUAL: Final = dict(zip(_FIELDS, msgspec.to_builtins(Header("", None, "", None, 0)), strict=True))
_NEEDED: Final = frozenset(field.name for field in structs.fields(Header) if field.required)


def head_of(session: SessionId, header: Header, store: str) -> Head:
    """The head of an export of that session, from the store of that incarnation."""
    told = dict(zip(_FIELDS, msgspec.to_builtins(header), strict=True))
    kept = {name: value for name, value in told.items() if name not in _OF_ITS_STORE}
    knew = header.withdrawals or header.recompositions
    return Head(
        format=FORMAT,
        version=VERSION,
        records=FORMAT_VERSION,
        session=session,
        header=kept,
        withdrawals=Withdrawals(store, header.withdrawals) if knew else None,
    )


def _header_of(told: Mapping[str, Any]) -> Header:
    """Read a header by the names of its fields. Raises :class:`ValueError`."""
    unknown = sorted(told.keys() - (_USUAL.keys() - _OF_ITS_STORE))
    missing = sorted(_NEEDED - told.keys())
    if unknown or missing:
        raise ValueError(", ".join([*unknown, *missing]))
    header = msgspec.convert(list({**_USUAL, **told}.values()), Header)
    numbers = (*structs.astuple(header), *structs.astuple(header.usage))
    if any(type(each) is int and abs(each) > NUMBER_MAX for each in numbers):
        raise ValueError("a number that is too large")
    return header


# --- writing --------------------------------------------------------------------------------------


def written(
    head: Head, commits: Iterable[ExportedCommit], contents: Iterable[tuple[str, bytes]]
) -> Iterator[bytes]:
    """The lines of an export, without newlines; ``contents`` in the order of their digests."""
    digest = hashlib.sha256()
    count = {CommitLine: 0, ContentLine: 0}
    for line in _told(head, commits, contents):
        if type(line) in count:
            count[type(line)] += 1
        data = encode(line)
        digest.update(data + b"\n")
        yield data
    yield encode(Foot(count[CommitLine], count[ContentLine], digest.hexdigest()))


def _told(
    head: Head, commits: Iterable[ExportedCommit], contents: Iterable[tuple[str, bytes]]
) -> Iterator[Head | CommitLine | ContentLine]:
    yield head
    for number, commit in enumerate(commits, 1):
        keys = {key: digest.hex() for key, digest in commit.keys.items()}
        yield CommitLine(number=number, keys=keys, records=msgspec.Raw(commit.records))
    for digest, data in contents:
        yield ContentLine(digest, data)


# --- reading --------------------------------------------------------------------------------------

_lines: Final = msgspec.json.Decoder(Line)


class _Version(msgspec.Struct):
    """What every version of a head says."""

    format: Literal["greenroom session"]
    version: int
    records: int


_versions: Final = msgspec.json.Decoder(_Version)


class Reading:
    """Takes the lines of an export in order, and refuses the first that is not as it was written.

    Nothing that is said behind it is believed: sizes, order, digests and counts are checked, and
    that each commit can be read. Whether it is a session that can be gone on with is another
    question.
    """

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self._digest = hashlib.sha256()
        self.lines = 0
        """How many were taken."""
        self._size = 0
        self._head: Head | None = None
        self._header: Header | None = None
        self._commits: list[ExportedCommit] = []
        self._records: list[AnyRecord] = []
        self._contents: dict[str, bytes] = {}
        self._last = ""
        """The digest of the last content."""
        self._foot: Foot | None = None

    def take(self, line: bytes) -> None:
        """Take the next line, with its newline or without.

        Raises:
            BadExport: it is no line of an export, or not the one that has to follow.
            ExportTooNew: a newer greenroom wrote it.
            TooLarge: the line, or all of them together, are over their bounds.
        """
        line = line.removesuffix(b"\n")
        self.lines += 1
        self._check_size(len(line))
        if self._foot is not None:
            self._refuse("stands behind the foot")
        told = self._decoded(line)
        if (self._head is None) is not isinstance(told, Head):
            self._refuse("is a second head" if self._head else "is not the head of an export")
        self._STEPS[type(told)](self, told)
        self._digest.update(line + b"\n")

    def whole(self) -> Exported:
        """What the lines told. Raises :class:`BadExport` if they ended too early."""
        if self._foot is None or self._head is None or self._header is None:
            raise BadExport(
                f"The export ends behind line {self.lines:,} without a foot: it was cut off.",
                line=self.lines,
            )
        return Exported(
            self._head.session,
            self._header,
            tuple(self._commits),
            tuple(self._records),
            self._contents,
            self._head.withdrawals,
        )

    def _check_size(self, size: int) -> None:
        self._size += size + 1
        bounds = self._limits
        for what, bytes_, bound in (
            (f"Line {self.lines:,} of the export", size, bounds.export_line_bytes_max),
            ("The export", self._size, bounds.import_bytes_max),
        ):
            if bytes_ > bound:
                raise TooLarge(
                    f"{what} has more than {bound:,} bytes, the bound.", bytes=bytes_, bound=bound
                )

    def _decoded(self, line: bytes) -> Line:
        # Looking for the bytes first spares the pattern, which is slow, on nearly every line.
        if b"\\u0000" in line and _NUL.search(line):
            self._refuse("holds a NUL character")
        try:
            if self._head is None:
                self._check_version(_versions.decode(line))
            return _lines.decode(line)
        except (msgspec.MsgspecError, UnicodeError, ValueError, RecursionError, MemoryError):
            self._refuse("cannot be read as a line of an export")

    def _check_version(self, told: _Version) -> None:
        if told.version > VERSION or told.records > FORMAT_VERSION:
            raise ExportTooNew(
                f"The export is of version {told.version}, its records of {told.records}; this"
                f" greenroom reads {VERSION} and {FORMAT_VERSION}.",
                version=told.version,
            )

    def _take_head(self, head: Head) -> None:
        try:
            header = _header_of(head.header)
        except (msgspec.MsgspecError, ValueError, TypeError) as error:
            self._refuse(f"has a header that is not understood ({error})")
        self._head, self._header = head, header

    def _take_commit(self, commit: CommitLine) -> None:
        if self._contents or commit.number != len(self._commits) + 1:
            self._refuse(f"is commit {commit.number:,} out of its order")
        records, bound = bytes(commit.records), self._limits.record_bytes_max
        if len(records) > bound:
            raise TooLarge(
                f"The records in line {self.lines:,} have {len(records):,} bytes; the bound is"
                f" {bound:,}.",
                bound=bound,
            )
        if len(self._commits) >= self._limits.import_commits_max:
            bound = self._limits.import_commits_max
            raise TooLarge(f"The export has more than {bound:,} commits, the bound.", bound=bound)
        try:
            told = decode_records(records)
            keys = {key: bytes.fromhex(digest) for key, digest in commit.keys.items()}
        except (GreenroomError, ValueError):
            self._refuse("holds records or keys that cannot be read")
        used = {record.key for record in told if isinstance(record, Accepted)}
        if any(len(keys[key]) != _KEY_DIGEST_BYTES or key not in used for key in keys):
            self._refuse("holds a key that none of its messages used")
        self._records += told
        self._commits.append(ExportedCommit(records, keys))

    def _take_content(self, content: ContentLine) -> None:
        if content.digest <= self._last:
            self._refuse("holds a content out of its order")
        if hashlib.sha256(content.data).hexdigest() != content.digest:
            self._refuse(f"holds a content that is not {quoted(content.digest[:12])}, as it says")
        self._contents[content.digest] = content.data
        self._last = content.digest

    def _take_foot(self, foot: Foot) -> None:
        if foot != Foot(len(self._commits), len(self._contents), self._digest.hexdigest()):
            self._refuse("is the foot of other lines than those before it")
        self._foot = foot

    def _refuse(self, what: str) -> NoReturn:
        raise BadExport(f"Line {self.lines:,} of the export {what}.", line=self.lines)

    _STEPS: ClassVar[Mapping[type, Callable[..., None]]] = {
        Head: _take_head,
        CommitLine: _take_commit,
        ContentLine: _take_content,
        Foot: _take_foot,
    }


def read_export(lines: Iterable[bytes], limits: Limits = DEFAULT_LIMITS) -> Exported:
    """Read an export whole, with nothing but its lines.

    Raises:
        BadExport, ExportTooNew, TooLarge: as :meth:`Reading.take` and :meth:`Reading.whole`.
    """
    reading = Reading(limits)
    for line in lines:
        reading.take(line)
    return reading.whole()
