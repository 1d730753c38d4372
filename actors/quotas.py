"""Quotas of tenants: what a request may take at most is reserved before it is sent (R233).

A reservation is made in one step, without awaiting, so that sessions at once never overshoot; when
the request is over it becomes a charge, in whatever way that ended. What a commit tells of is
charged with it: a turn's worst case with the commit that its request follows, and what it took less
with the next. So the counts on disk may tell more than was spent, after a kill, and never less; but
for a request for a summary or a title, which no commit comes before.

A tenant without a quota has no bill, and nothing is counted of it.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final, TypeAlias

import attrs

from greenroom.actors.said import holds, said_by
from greenroom.actors.world import World
from greenroom.protocol.errors import ModelFailed
from greenroom.protocol.quota import (
    NOTHING,
    Charge,
    Quota,
    QuotaState,
    Spent,
    day_of,
    first_day,
    over_quota,
    quota_state,
    used_up,
)
from greenroom.protocol.quoting import quoted
from greenroom.protocol.refusal import QuotaFailed
from greenroom.protocol.usage import Usage
from greenroom.store.contract import Store

QuotaRule: TypeAlias = Quota | Callable[[str], Quota | None] | None
"""One quota for each tenant, or what gives a tenant's by its name; None: no cap."""
ACCOUNTS_MAX: Final = 10_000
"""Tenants whose counts are kept in memory while none of their turns runs."""
_LOOKS: Final = 4
"""How many are looked at to make room for one: more than one, so that the number falls again."""


@attrs.define(eq=False, slots=True)
class Account:
    """What one tenant was charged and has reserved, by days."""

    charged: dict[int, Spent]
    reserved: dict[int, Spent] = attrs.field(factory=dict)
    bills: int = 0
    """How many are open: as long as one is, the store may not have all of it yet."""


@attrs.define(eq=False, slots=True)
class Quotas:
    """The quotas of a host, and how much of them is used."""

    rule: QuotaRule
    _store: Store
    _world: World
    _accounts: OrderedDict[str, Account] = attrs.field(factory=OrderedDict)

    def of(self, tenant: str) -> Quota | None:
        """The quota that a tenant has now.

        Raises:
            QuotaFailed: the host's function raised, or gave something else.
        """
        rule = self.rule
        if rule is None or isinstance(rule, Quota):
            return rule
        try:
            found: object = rule(tenant)
        except BaseException as error:
            if holds(error, KeyboardInterrupt):
                raise
            raise QuotaFailed(
                f"The host's quota failed for the tenant {quoted(tenant)}: {said_by(error)}"
            ) from error
        if found is None or isinstance(found, Quota):
            return found
        raise QuotaFailed(
            f"The host's quota gave a {type(found).__name__} for the tenant {quoted(tenant)}."
        )

    def check_left(self, tenant: str) -> None:
        """Refuse what no answer that is still to come could make room for.

        Raises:
            OverQuota: all of the tenant's quota is charged.
            QuotaFailed, StoreDamaged: it cannot be told.
        """
        state = None if self.rule is None else self.state(tenant)
        if state is not None and (refusal := used_up(state)) is not None:
            raise refusal

    def state(self, tenant: str) -> QuotaState | None:
        """What stands of a tenant's quota; None: it has none.

        Raises:
            QuotaFailed, StoreDamaged: see :meth:`check_left`.
        """
        quota = self.of(tenant)
        if quota is None:
            return None
        return self._stands(tenant, quota, self._account(tenant), day_of(self._world.now()))

    def bill(self, tenant: str) -> "Bill | None":
        """What a turn or a compaction is charged with; None: the tenant has no quota.

        Raises:
            QuotaFailed, StoreDamaged: see :meth:`check_left`.
        """
        if self.rule is None or self.of(tenant) is None:
            return None
        account = self._account(tenant)
        account.bills += 1
        return Bill(self, tenant, account)

    def reserved(self, tenant: str, account: Account, needed: Spent) -> int:
        """Reserve, and the day on which it counts.

        Raises:
            OverQuota: there is no room for it; nothing is reserved.
            QuotaFailed: the host's function failed.
        """
        quota, day = self.of(tenant), day_of(self._world.now())
        if quota is not None:
            refusal = over_quota(self._stands(tenant, quota, account, day), needed)
            if refusal is not None:
                raise refusal
        _add(account.reserved, day, needed)
        return day

    def _stands(self, tenant: str, quota: Quota, account: Account, day: int) -> QuotaState:
        return quota_state(tenant, quota, day, account.charged, account.reserved)

    def _account(self, tenant: str) -> Account:
        known = self._accounts.get(tenant)
        if known is None:
            self._make_room()
            known = self._accounts[tenant] = Account(self._store.charged(tenant))
        self._accounts.move_to_end(tenant)
        return known

    def _make_room(self) -> None:
        """Forget who was not asked about for longest, where the store has all of it."""
        for _ in range(_LOOKS):
            if len(self._accounts) < ACCOUNTS_MAX:
                return
            tenant, oldest = self._accounts.popitem(last=False)
            if oldest.bills:
                self._accounts[tenant] = oldest


def _add(days: dict[int, Spent], day: int, spent: Spent) -> None:
    counted = days.get(day, NOTHING) + spent
    if counted == NOTHING:
        days.pop(day, None)
    else:
        days[day] = counted


@attrs.define(eq=False, slots=True)
class Bill:
    """What one turn, or one compaction of its own, is charged; it goes with their commits."""

    _quotas: Quotas
    _tenant: str
    _account: Account
    _due: dict[int, Spent] = attrs.field(factory=dict)
    """What no commit has yet; less than nothing, where a former one had too much."""

    def reserve(self, tokens: int, turns: int = 0) -> "Reservation":
        """Reserve what a request may take at most.

        Raises:
            OverQuota: the tenant's quota has no room for it; the request must not be made.
            QuotaFailed: the host's function failed.
        """
        spent = Spent(tokens, turns)
        day = self._quotas.reserved(self._tenant, self._account, spent)
        _add(self._due, day, spent)
        return Reservation(self, day, spent)

    def settle(self, day: int, reserved: Spent, spent: Spent) -> None:
        """A reservation is over: this much was spent of it, or more."""
        if reserved != NOTHING:
            _add(self._account.reserved, day, NOTHING - reserved)
        if spent != NOTHING:
            self._forget_before(first_day(day, "month"))
            _add(self._account.charged, day, spent)
        _add(self._due, day, spent - reserved)

    def take(self) -> tuple[Charge, ...]:
        """What the next commit charges."""
        taken = tuple([Charge(day, spent) for day, spent in self._due.items()])
        self._due.clear()
        return taken

    def close(self) -> tuple[Charge, ...]:
        """Nothing more is reserved with it; what is left to be charged."""
        self._account.bills -= 1
        return self.take()

    def _forget_before(self, day: int) -> None:
        charged = self._account.charged
        for former in [each for each in charged if each < day]:
            del charged[former]


@attrs.define(eq=False, slots=True)
class Reservation:
    """The worst case of one request, from before it is sent until it is over.

    What ends it first counts. Whoever was sent a request and reports no usage is taken to have used
    all that was reserved: the bytes of an answer do not show what was thought for it, and a call
    that was cut off may have been paid for. Only a call that failed before any answer was begun, as
    its ``ModelFailed`` says, costs nothing.
    """

    _bill: Bill
    _day: int
    _reserved: Spent
    """Nothing, once it is over."""

    def answered(self, usage: Usage) -> None:
        """The answer is there, with what it used: all five buckets count, the cached too (P184)."""
        self._over(usage.total or self._reserved.tokens)

    def failed(self, error: BaseException) -> None:
        """The request failed, or was cut off."""
        # Its author may have left out its ``__init__``, and with it the facts.
        facts = getattr(error, "facts", {}) if isinstance(error, ModelFailed) else {}
        self._over(0 if facts.get("begun") is False else self._reserved.tokens)

    def again(self) -> None:
        """The request is made once more, beside the attempt that was cut off.

        Raises:
            OverQuota, QuotaFailed: see :meth:`Bill.reserve`; there is no reservation any more.
        """
        tokens = self._reserved.tokens
        self._over(tokens)
        fresh = self._bill.reserve(tokens)
        self._day, self._reserved = fresh._day, fresh._reserved  # noqa: SLF001 - its own kind

    def release(self) -> None:
        """The request was never sent: nothing of it counts."""
        self._end(NOTHING)

    def _over(self, tokens: int) -> None:
        # A turn that was dispatched counts as one, whatever came of its request.
        self._end(Spent(tokens, self._reserved.turns))

    def _end(self, spent: Spent) -> None:
        self._bill.settle(self._day, self._reserved, spent)
        self._reserved = NOTHING
