"""Opening a store for a command."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from greenroom.protocol.errors import StoreDamaged
from greenroom.store import EmbeddedStore, open_lmdb


@asynccontextmanager
async def open_store(path: Path, *, read_only: bool = False) -> AsyncGenerator[EmbeddedStore]:
    """The store in a folder; without ``read_only`` it is made if there is nothing.

    Raises:
        StoreDamaged: no session of it can be read.
        StoreFailed: whatever else :func:`open_lmdb` raises.
    """
    async with AsyncExitStack() as stack:
        try:
            store = await stack.enter_async_context(open_lmdb(path, read_only=read_only))
        except StoreDamaged as error:
            raise StoreDamaged(
                error.sentence,
                way_out="Restore a backup: no session of it can be read now.",
                **error.facts,
            ) from error
        yield store
