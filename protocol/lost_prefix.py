"""Whether a request still begins with all of the one before it; else a cache reads less (P083)."""

from greenroom.protocol.common_bytes import common_bytes
from greenroom.protocol.request import ModelRequest


def lost_prefix(before: ModelRequest, after: ModelRequest) -> int | None:
    """Where a request parts from the one before it, in bytes of the canonical form (R196).

    None: it begins with all of it, up to the end of its messages.
    """
    one, other = before.canonical(), after.canonical()
    behind = len(b'],"parameters":}') + len(before.parameters)
    common = common_bytes(one, other)
    return common if common < len(one) - behind else None
