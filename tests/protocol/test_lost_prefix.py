"""Laws of whether a request begins with all of the one before it."""

from hypothesis import given
from hypothesis import strategies as st

from greenroom.protocol.lost_prefix import lost_prefix
from greenroom.protocol.request import Messages, ModelRequest

BODIES = st.lists(st.sampled_from([b'{"a":1}', b'{"a":12}', b'{"b":[]}']), max_size=5)


def request(system: str, bodies: list[bytes], tools: bytes = b"[]") -> ModelRequest:
    return ModelRequest("m", system, tools, Messages(bodies, len(bodies)), b'{"t":1}')


@given(BODIES, BODIES)
def test_a_request_that_grew_at_its_end_lost_nothing(told: list[bytes], more: list[bytes]) -> None:
    """P083: also where nothing came behind it."""
    assert lost_prefix(request("S", told), request("S", [*told, *more])) is None


@given(BODIES, BODIES, st.sampled_from(["S", "St", "T"]), st.sampled_from([b"[]", b"[1]"]))
def test_what_is_lost_begins_at_the_first_byte_that_differs(
    told: list[bytes], other: list[bytes], system: str, tools: bytes
) -> None:
    """P083: in the system string, the tools or a message."""
    before, after = request("S", told), request(system, other, tools)
    common = lost_prefix(before, after)
    one, two = before.canonical(), after.canonical()
    if common is None:
        assert (system, tools, other[: len(told)]) == ("S", b"[]", told)
    else:
        assert one[:common] == two[:common]
        assert one[common] != two[common]
        assert (system, tools, other[: len(told)]) != ("S", b"[]", told)
