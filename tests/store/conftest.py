"""Each store once, under the name ``store``."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from greenroom.store import Options, Store, open_lmdb, open_memory

SMALL = Options(map_size=256 << 20, reserve_bytes=0)


@pytest.fixture(params=["memory", "lmdb"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    if request.param == "memory":
        async with open_memory() as memory:
            yield memory
    else:
        async with open_lmdb(tmp_path / "store", options=SMALL) as embedded:
            yield embedded
