"""The door for programs that do not run trio: the same host, the same names, the same errors.

In asyncio ``async with portal.open_host(...) as host`` gives what is awaited; in a plain program
``with portal.open_host(...) as host`` gives what blocks: one function, and the block says which.
All else is as in :mod:`greenroom.actors`, with four things to know:

* The host lives in a thread of its own, on trio (R188), and so do models, tools and ``deps``. As a
  guest of the caller's loop it would cost the same (a call takes 35-55 µs of CPU here and 35-42
  there, of many at once), but each slow step of the one would hold up the other, and a plain
  program has no loop to be a guest of. A blocking portal of anyio has its caller wait until the
  host's loop takes a call: a tool that computes for 0.3 s held up the caller's loop for 0.28 s
  there and for 7 ms here.
* A cancelled task (``asyncio.timeout``, ``task.cancel()``, Ctrl-C) cancels its call in the host as
  trio cancels, and goes on when that has ended. What was acknowledged stays; a message whose
  receipt was lost is found again by its ``key``.
* A stream of events is opened at its first step, which raises what opening it raises. A reader is
  never ahead by more than a handful, loses nothing by a timeout, and may be left at any time.
* A program whose trio run is a guest of its asyncio loop (``trio.lowlevel.start_guest_run``) opens
  the host in trio and gives asyncio :func:`beside`; asking the host itself there is refused (P181).
"""

from greenroom.actors.portal.handles import (
    Host,
    PlainHost,
    PlainScope,
    PlainSession,
    Scope,
    Session,
)
from greenroom.actors.portal.opening import Opening, beside, open_host
from greenroom.actors.portal.reading import Listing, PlainListing, PlainReader, Reader

__all__ = [
    "Host",
    "Listing",
    "Opening",
    "PlainHost",
    "PlainListing",
    "PlainReader",
    "PlainScope",
    "PlainSession",
    "Reader",
    "Scope",
    "Session",
    "beside",
    "open_host",
]
