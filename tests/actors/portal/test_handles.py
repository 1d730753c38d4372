"""The table of the portal beside the API that it stands for: the same names, and all of them."""

import inspect
from collections.abc import AsyncIterable, Callable
from typing import Any, assert_type, get_origin, get_overloads

import pytest

from greenroom.actors import Host, Listing, Scope, Session, portal
from greenroom.actors import open_host as trio_open_host
from greenroom.actors.portal.forwarding import Asked, Follows, Forwarded, Lists, Told
from greenroom.actors.portal.handles import HostTable, Opens, ScopeTable, SessionTable
from greenroom.protocol.event import Event
from greenroom.protocol.identity import SessionId
from greenroom.protocol.receipt import Outcome, Receipt
from greenroom.protocol.state import SessionSummary

TABLES = {Session: SessionTable, Scope: ScopeTable, Host: HostTable}
BY_HAND = {"tenant", "id"}
"""What is no single method of the original: written out, and tried below."""
INSIDE = {
    "activate",
    "check_open",
    "close",
    "events",
    "live",
    "passivate",
    "services",
    "summaries",
    "summary",
}
"""What a host has for its own parts, and nobody outside is to ask."""


def public(kind: type) -> dict[str, Any]:
    """What a class itself declares for others."""
    return {name: value for name, value in vars(kind).items() if not name.startswith("_")}


@pytest.mark.parametrize("original", TABLES, ids=lambda kind: kind.__name__)
def test_the_table_has_every_name_of_the_original_and_no_other(original: type) -> None:
    """R188: the API is there whole; a method that is added to it is missed here."""
    inside = INSIDE if original is Host else set()
    assert public(TABLES[original]).keys() - BY_HAND == public(original).keys() - inside - BY_HAND


@pytest.mark.parametrize("original", TABLES, ids=lambda kind: kind.__name__)
def test_each_name_stands_for_the_method_of_that_name(original: type) -> None:
    """R188: under its own name, and in the way that its kind asks for."""
    for name, entry in public(TABLES[original]).items():
        if name not in BY_HAND:
            assert isinstance(entry, Forwarded)
            assert entry.method is vars(original)[name]
            assert type(entry) is kind_of(entry.method)


def kind_of(method: Any) -> type:
    """How a method has to be forwarded, by what it is."""
    result = inspect.signature(method).return_annotation
    if inspect.iscoroutinefunction(method):
        return Opens if result is Session else Asked
    if get_origin(result) is Listing:
        return Lists
    is_stream = inspect.isclass(result) and issubclass(result, AsyncIterable)
    return Follows if is_stream else Told


@pytest.mark.parametrize("handle", [portal.Session, portal.PlainSession])
def test_a_class_shows_what_its_original_says(handle: Any) -> None:
    """R188: parameters and words, for whoever asks for help."""
    assert handle.prompt is Session.prompt


def test_hosts_are_opened_alike() -> None:
    """R188: the same parts, by the same names, with the same defaults; the store is unopened."""
    beside: list[Callable[..., Any]] = [portal.open_host, *get_overloads(portal.open_host)]
    originals: list[Callable[..., Any]] = [trio_open_host, *get_overloads(trio_open_host)]
    assert len(beside) == len(originals) == 3
    for one, original in zip(beside, originals, strict=True):
        left = {**inspect.signature(one).parameters}
        right = {**inspect.signature(original).parameters}
        assert list(left) == list(right)
        del left["store"], right["store"]
        assert list(map(str, left.values())) == list(map(str, right.values()))


async def typed_in_asyncio(host: portal.Host) -> None:
    """Never run: the type checker holds the results of both kinds of programs to the original's."""
    session = await host.session("k", agent="support")
    assert_type(session, portal.Session)
    receipt = await session.prompt("hello", when="queue")
    assert_type(receipt, Receipt)
    assert_type(await session.outcome(receipt), Outcome)
    assert_type(await host.tenant("a").sessions().all(), list[SessionSummary])
    async for event in host.feed(after=receipt.cursor):
        assert_type(event, Event)
    assert_type(host.id_of("k"), SessionId)
    await session.prompt("hello", wen="queue")  # type: ignore[call-arg]


def typed_in_a_plain_program(host: portal.PlainHost) -> None:
    """Never run either."""
    session = host.session("k", agent="support")
    assert_type(session, portal.PlainSession)
    receipt = session.prompt("hello", when="queue")
    assert_type(receipt, Receipt)
    assert_type(session.outcome(receipt), Outcome)
    assert_type(host.tenant("a").sessions().all(), list[SessionSummary])
    for event in host.feed(after=receipt.cursor):
        assert_type(event, Event)
    session.prompt("hello", wen="queue")  # type: ignore[call-arg]
