"""What the laws of the providers share."""

import pytest
import trio

from tests.actors.models.provider import Heard, Provider


@pytest.fixture
async def provider(nursery: trio.Nursery) -> Provider:
    """A provider that listens on the loopback address until the test ends."""
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listeners[0].socket.getsockname()[1]
    served = Provider(f"http://127.0.0.1:{port}/v1")
    nursery.start_soon(trio.serve_listeners, served.serve, listeners)
    return served


@pytest.fixture
def sink() -> Heard:
    return Heard()
