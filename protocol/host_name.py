"""Which host a URL or a host argument names: told strictly, so that no reader tells another.

Programs read odd URLs differently (``https://a@b``, ``https:/b``, a backslash, a tab in a name). A
list that is asked about another host than the one that is reached bounds nothing. So only the plain
form is taken: ``scheme://host:port/...`` or ``host:port``, in ASCII, with no one's name in front of
the host. Anything else names no host that can be told, and whoever asks refuses it.
"""

import re
from collections.abc import Collection
from typing import Final

from greenroom.protocol.errors import InvalidInput
from greenroom.protocol.quoting import quoted

_NAME: Final = r"(?:[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.)*"
_LAST: Final = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_HOST: Final = rf"(?:{_NAME}{_LAST}\.?|\[[0-9A-Fa-f:.]{{2,45}}\])"
_URL: Final = re.compile(
    rf"(?:[A-Za-z][A-Za-z0-9+.-]*://)?({_HOST})(?::[0-9]{{1,5}})?(?:[/?#].*)?", re.DOTALL
)
_PATTERN: Final = re.compile(rf"(?:\*\.)?{_HOST}")
_LENGTH_MAX: Final = 253


def host_named(value: object) -> str | None:
    """The host that an argument names, in small letters; None if it cannot be told."""
    found = _URL.fullmatch(value) if isinstance(value, str) else None
    return None if found is None else _canonical(found[1])


def is_among(host: str, patterns: Collection[str]) -> bool:
    """Whether a host, as :func:`host_named` tells it, is on a list; ``*.a.b`` is not ``a.b``."""
    if host in patterns:
        return True
    parts = host.split(".")
    return any(f"*.{'.'.join(parts[place:])}" in patterns for place in range(1, len(parts)))


def check_host(pattern: object) -> str:
    """A host of a list, in small letters. Raises :class:`InvalidInput` if it cannot be one."""
    if (
        not isinstance(pattern, str)
        or len(pattern) > _LENGTH_MAX
        or not _PATTERN.fullmatch(pattern)
    ):
        raise InvalidInput(
            f"{quoted(pattern)} is no host: write a name in ASCII as host.domain, or "
            "*.domain for all below it, without scheme, port or path.",
            what="egress",
        )
    return _canonical(pattern)


def _canonical(host: str) -> str:
    return host.lower().removesuffix(".")
