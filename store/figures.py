"""What a store tells of itself: what it takes on disk, and what it did."""

import msgspec


class Space(msgspec.Struct, frozen=True, gc=False):
    """What the store takes on disk, in bytes."""

    used: int
    live: int
    reclaimable: int
    map_size: int
    disk_free: int


class StoreStatistics(msgspec.Struct, frozen=True, gc=False):
    """What the store did since it was opened."""

    operations: int
    commits: int
    transactions: int
    """Each is one durable flush; operations / transactions is the size of a group."""
    failed: int
    largest_group: int
    waiting: int
    records_bytes: int
    """Bytes of records written by commits and enqueues."""
