"""``greenroom sessions``, ``show`` and ``request``: reading a store, with no host and no model.

The store is opened read-only, which works beside a host that writes to it (R187).
"""

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from difflib import get_close_matches
from itertools import islice
from typing import Final

import attrs
import msgspec
import trio
from rich.console import Console

from greenroom.actors.cli.options import Stored as Options
from greenroom.actors.cli.stores import open_store
from greenroom.actors.cli.tables import cells_of, open_table
from greenroom.actors.cli.transcript import print_conversation, shaped_if_kept
from greenroom.actors.cli.words import counted, moment, named, short
from greenroom.actors.cli.wrapping import wrapped
from greenroom.actors.finding import summaries_of
from greenroom.actors.index import Index
from greenroom.actors.listing import Listing
from greenroom.actors.reading import summary_of
from greenroom.protocol.account import turns_of
from greenroom.protocol.encoding import decode_records
from greenroom.protocol.errors import Missing, NotAStore
from greenroom.protocol.filter import Filter
from greenroom.protocol.identity import SessionId, TurnId, check_text
from greenroom.protocol.limits import DEFAULT_LIMITS
from greenroom.protocol.rebuild import SentRequest, request_at
from greenroom.protocol.record import AnyRecord
from greenroom.protocol.state import Place, SessionSummary
from greenroom.protocol.transcript import transcript_of
from greenroom.store import Store, Stored

NAMES_MAX: Final = 10_000
"""Sessions whose names are compared with one that is not there."""
NAMES_SHOWN: Final = 3
COLUMNS: Final = ("session", "agent", "person", "phase", "turns", "created (UTC)")
TITLE: Final = "title"
"""The column that stands last where a session has one."""
TITLE_SHOWN: Final = 60
INDENT: Final = 2
PLACES: Final[tuple[tuple[Place, str], ...]] = (
    ("kept_prompt", "in the kept prompt"),
    ("message", "in a message"),
)
"""Where something may be shown, in words."""


@attrs.frozen
class Found:
    """A session as it was read."""

    summary: SessionSummary
    records: list[AnyRecord]


def _instead(key: str, keys: list[str]) -> str:
    """The keys that are most like ``key``, else the first ones, and how many more there are."""
    near = get_close_matches(key, keys, n=NAMES_SHOWN, cutoff=0.5) or keys[:NAMES_SHOWN]
    if not near:
        return ""
    more = len(keys) - len(near)
    counted = f"{more:,}" if len(keys) < NAMES_MAX else "many"
    return f"; there is {', '.join(near)}" + (f" and {counted} more" if more else "")


@asynccontextmanager
async def open_reading(options: Options) -> AsyncGenerator[Store]:
    """The store, read-only.

    Raises:
        NotAStore: there is none; and whatever else :func:`open_store` raises.
    """
    if options.store is None and not await trio.Path(options.path).exists():
        raise nothing_kept(options)
    async with open_store(options.path, read_only=True) as store:
        yield store


def nothing_kept(options: Options) -> NotAStore:
    """What there is to say where no store was made yet."""
    return NotAStore(
        f"Nothing was kept yet: `greenroom chat` makes a store at {options.path}.",
        way_out="Begin one there, or give the folder of another with --store.",
    )


def found(store: Store, tenant: str, key: str) -> Found:
    """Read one session. Raises :class:`Missing`, which names those with a like key."""
    check_text(key, "session's key", DEFAULT_LIMITS.name_bytes_max)
    session = SessionId(tenant, key)
    stored = store.look(session)
    if not isinstance(stored, Stored):
        keys = [each.session.key for each in islice(store.sessions(tenant), NAMES_MAX)]
        named = str(session) or "without a key"
        raise Missing(f"There is no session {named}{_instead(key, keys)}.", session=str(session))
    records = [record for entry in store.read(session) for record in decode_records(entry.records)]
    return Found(summary_of(stored, None), records)


async def sessions(
    console: Console,
    options: Options,
    asked: Filter,
    *,
    as_json: bool = False,
) -> int:
    """List the sessions of a store (R239)."""
    async with open_reading(options) as store:
        listed = await Listing(lambda: summaries_of(Index(store), asked, _summary)).all()
    if as_json:
        for summary in listed:
            print_json(summary)
        return 0
    if not listed:
        console.print("There are no such sessions." if asked.terms else "There are no sessions.")
        return 0
    _print_listing(console, listed)
    console.print(counted(len(listed), "session"), style="dim")
    if asked.shown is not None:
        _print_places(console, listed)
    return 0


def _summary(stored: Stored) -> SessionSummary:
    return summary_of(stored, None)


def _print_listing(console: Console, summaries: list[SessionSummary]) -> None:
    """A table, or where it has no room each session in lines: a key that is cut names nothing."""
    columns: tuple[str, ...] = COLUMNS
    rows = [_row(each) for each in summaries]
    if any(each.title for each in summaries):
        columns = (*COLUMNS, TITLE)
        rows = [(*row, _title(each)) for row, each in zip(rows, summaries, strict=True)]
    rows.insert(0, columns)
    if cells_of(rows) <= console.width:
        table = open_table()
        for name in columns:
            table.add_column(name, justify="right" if name == "turns" else "left", no_wrap=True)
        for row in rows[1:]:
            table.add_row(*row)
        console.print(table)
        return
    for each, (key, *_) in zip(summaries, rows[1:], strict=True):
        console.print(key, style="bold")
        told = [title for title in (_title(each),) if title]
        for line in wrapped(console, "\n".join([*told, _about(each)]), INDENT):
            console.print(f"{' ' * INDENT}{line}")


def _row(each: SessionSummary) -> tuple[str, ...]:
    return (
        named(each.session.key),
        named(each.agent),
        named(each.person or "–"),
        _phase(each),
        f"{each.turns:,}",
        moment(each.created)[:16],
    )


def _about(each: SessionSummary) -> str:
    person = [f"person {named(each.person)}"] if each.person is not None else []
    told = [f"agent {named(each.agent)}", *person, _phase(each), counted(each.turns, "turn")]
    return " · ".join([*told, f"created {moment(each.created)[:16]} UTC"])


def _title(each: SessionSummary) -> str:
    return short(each.title or "", TITLE_SHOWN)


def _print_places(console: Console, listed: list[SessionSummary]) -> None:
    """How many show what was asked for where: a prompt is composed anew, a message stays."""
    told = [
        f"{sum(place in each.shown_in for each in listed):,} {words}" for place, words in PLACES
    ]
    console.print("shown: " + ", ".join(told), style="dim")


def _phase(each: SessionSummary) -> str:
    return f"{each.phase} +{each.queued}" if each.queued else str(each.phase)


async def show(
    console: Console, options: Options, key: str, *, full: bool = False, as_json: bool = False
) -> int:
    """Print a transcript by origin, with picks, marks and turn records (R76, R98)."""
    async with open_reading(options) as store:
        session = found(store, options.tenant, key)
        turns = turns_of(session.records, session.summary.agent)
        entries = transcript_of(session.records)
        if as_json:
            whole = [shaped_if_kept(turn, store.blob) or turn for turn in turns]
            print_json({"session": session.summary, "entries": entries, "turns": whole})
        else:
            print_conversation(console, session.summary, entries, turns, store.blob, full=full)
    return 0


async def request(options: Options, key: str, turn: TurnId, *, round_: int = -1) -> int:
    """Write the exact bytes of a request to standard output; exit code 1 if they are not (R196)."""
    async with open_reading(options) as store:
        records = found(store, options.tenant, key).records
        sent = request_at(records, turn, round_, store.blob)
    data = sent.request.canonical()
    sys.stdout.buffer.write(data)
    if sys.stdout.isatty():
        sys.stdout.buffer.write(b"\n")
    sys.stdout.buffer.flush()
    print(_verdict(sent, len(data)), file=sys.stderr)
    return 0 if sent.is_exact else 1


def _verdict(sent: SentRequest, length: int) -> str:
    what = f"turn {sent.turn}, round {sent.round}: {length:,} bytes"
    if sent.is_exact:
        return f"{what}, exactly as the model was given them: digest {sent.recorded}"
    return (
        f"{what}, NOT as the model was given them: digest {sent.rebuilt}, recorded {sent.recorded}"
    )


def print_json(value: object) -> None:
    """One line of JSON."""
    print(msgspec.json.encode(value).decode())
