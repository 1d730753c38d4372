"""What a store did since it was opened."""

import attrs

from greenroom.store.figures import StoreStatistics
from greenroom.store.group import Group
from greenroom.store.transaction import Transaction


@attrs.define(eq=False)
class Counters:
    """Sums over all transactions; only who applies them changes it."""

    operations: int = 0
    commits: int = 0
    transactions: int = 0
    failed: int = 0
    records_bytes: int = 0

    def count(self, transaction: Transaction, operations: int) -> None:
        """Count what a transaction made durable."""
        self.operations += operations
        self.commits += transaction.commits
        self.records_bytes += transaction.records_bytes

    def told(self, group: Group) -> StoreStatistics:
        """The sums as they are told outside."""
        return StoreStatistics(
            operations=self.operations,
            commits=self.commits,
            transactions=self.transactions,
            failed=self.failed,
            largest_group=group.largest,
            waiting=group.waiting,
            records_bytes=self.records_bytes,
        )
