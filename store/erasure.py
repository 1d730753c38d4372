"""Erasing what a deleted session left, a few rows in each transaction, also over a restart.

The tombstone is committed first and refuses everything, so nobody sees the steps between. A row in
``erasing`` says how far they came; a store that finds one when it opens goes on from there.
"""

from collections.abc import Iterator
from typing import Final

import attrs

from greenroom.store.contract import Done
from greenroom.store.envelope import Kind, seal, unseal_as
from greenroom.store.group import Unfinished
from greenroom.store.rows import chained
from greenroom.store.schema import (
    BLOBS,
    ERASING,
    HOLDERS,
    HOLDS,
    KEYS,
    LOG,
    QUEUE,
    SESSION_BYTES,
    number_key,
    number_of,
)
from greenroom.store.tables import Tables, View, some_keys

STEP_ROWS_MAX: Final = 500
"""Rows removed in one transaction: a few milliseconds, so that no commit waits long behind it."""


@attrs.frozen
class Erase:
    """The next step of a deletion; nobody offers it but the store itself."""

    session: bytes
    number: int
    """Of the ``Deleted`` entry: what the verdict tells when all is gone."""


def begin_erasing(tables: Tables, session: bytes, newest: int, number: int) -> Unfinished:
    """Note that the chain of ``session``, from entry ``newest`` back, is to be removed."""
    _note(tables, session, newest)
    return Unfinished(Erase(session, number))


def erase_some(tables: Tables, erase: Erase) -> Done | Unfinished:
    """Remove up to :data:`STEP_ROWS_MAX` rows of a deleted session (R192)."""
    session, left = erase.session, STEP_ROWS_MAX
    value = tables.get(ERASING, session)
    if value is None:
        return Done(erase.number)
    number = number_of(unseal_as(Kind.ERASING, value, table=ERASING, key=session))
    number, left = _erase_entries(tables, session, number, left)
    for table in (QUEUE, KEYS):
        for key in some_keys(tables, table, session, left):
            tables.delete(table, key)
            left -= 1
    for key in some_keys(tables, HOLDS, session, left):
        _let_go(tables, session, key)
        left -= 1
    if left <= 0:
        _note(tables, session, number)
        return Unfinished(erase)
    tables.delete(ERASING, session)
    return Done(erase.number)


def unfinished(view: View) -> Iterator[Erase]:
    """The deletions that a former run of the store began and did not finish."""
    for session, _ in view.scan(ERASING, b""):
        yield Erase(session, 0)


def _erase_entries(tables: Tables, session: bytes, number: int, left: int) -> tuple[int, int]:
    """Walk the chain, removing. It ends where a damaged entry points to none of this session's."""
    while number and left > 0:
        key = number_key(number)
        owner, before = chained(tables.get(LOG, key))
        if owner != session:
            return 0, left
        tables.delete(LOG, key)
        left -= 1
        number = before if before < number else 0
    return number, left


def _let_go(tables: Tables, session: bytes, key: bytes) -> None:
    """Give up one hold, and the content with the last one (R193)."""
    blob = key[SESSION_BYTES:]
    tables.delete(HOLDS, key)
    tables.delete(HOLDERS, blob + session)
    if not some_keys(tables, HOLDERS, blob, 1):
        tables.delete(BLOBS, blob)


def _note(tables: Tables, session: bytes, newest: int) -> None:
    tables.put(ERASING, session, seal(Kind.ERASING, session, number_key(newest)))
