"""The stage of the laws of the turn: in memory under simulated time, or on disk."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from trio.testing import MockClock

from greenroom.store import Options, open_lmdb, open_memory
from tests.actors.world import Stage

THREADS_SECONDS = 0.2
"""How long the loop has to be still before time jumps: a skill is read in a thread meanwhile."""


@pytest.fixture
async def stage(autojump_clock: MockClock) -> AsyncIterator[Stage]:
    autojump_clock.autojump_threshold = THREADS_SECONDS
    async with open_memory() as store:
        yield Stage(store)


@pytest.fixture
async def disk(tmp_path: Path) -> AsyncIterator[Stage]:
    """Over LMDB, under the real clock."""
    async with open_lmdb(
        tmp_path / "store", options=Options(map_size=64 << 20, reserve_bytes=0)
    ) as store:
        yield Stage(store)
