"""Reading the journal of a store: a page in each read, so that none stays open."""

from collections.abc import Iterator
from typing import Final

from greenroom.protocol.journal import AnyIntervention, decode_intervention
from greenroom.store.contract import Store

PAGE: Final = 100


def interventions(store: Store) -> Iterator[AnyIntervention]:
    """All entries, oldest first. Raises :class:`StoreDamaged` at one that cannot be read."""
    after = 0
    while page := store.journal(after, limit=PAGE):
        for entry in page:
            yield decode_intervention(entry.entry)
        after = page[-1].number
