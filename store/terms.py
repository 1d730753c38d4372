"""The index behind ``find``: which sessions hold a term, by term and then by tenant."""

from collections.abc import Iterable

from greenroom.protocol.identity import SessionId
from greenroom.store.envelope import Kind, seal, unseal_as
from greenroom.store.schema import DIGEST_BYTES, TERMS, TERMSETS, tenant_key, terms_of
from greenroom.store.tables import Tables


def replace_terms(
    tables: Tables, session: bytes, name: SessionId, terms: Iterable[tuple[str, str]]
) -> None:
    """Make ``find`` answer this session under these terms and no others."""
    value = tables.get(TERMSETS, session)
    old = frozenset[bytes]()
    if value is not None:
        told = unseal_as(Kind.TERMSET, value, table=TERMSETS, key=session, session=name)
        old = frozenset(
            told[start : start + DIGEST_BYTES] for start in range(0, len(told), DIGEST_BYTES)
        )
    new = terms_of(terms)
    if new == old:
        return
    where = tenant_key(name.tenant) + session
    for term in old - new:
        tables.delete(TERMS, term + where)
    for term in new - old:
        tables.put(TERMS, term + where, b"")
    if new:
        tables.put(TERMSETS, session, seal(Kind.TERMSET, session, b"".join(sorted(new))))
    else:
        tables.delete(TERMSETS, session)
