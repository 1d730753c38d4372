"""Laws of the lines of an export: read back as they were written, refused where they are not."""

import hashlib
import json
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from greenroom.protocol.encoding import encode_message, encode_records
from greenroom.protocol.errors import TooLarge
from greenroom.protocol.export_lines import (
    VERSION,
    ExportedCommit,
    Withdrawals,
    head_of,
    read_export,
    written,
)
from greenroom.protocol.header import Header
from greenroom.protocol.identity import SessionId
from greenroom.protocol.limits import Limits
from greenroom.protocol.message import UserMessage
from greenroom.protocol.record import Accepted, Opened, Recalled
from greenroom.protocol.refusal import BadExport, ExportTooNew
from greenroom.protocol.usage import Usage

ANN = SessionId("default", "ann")
HEADER = Header(
    "support", "ben", "careful", "m", 7, users=1, labels={"b": "1", "a": "2"}, usage=Usage(input=3)
)
SAID = msgspec.Raw(encode_message(UserMessage("Hi \\u0000 \N{SNOWMAN}")))
COMMITS = [
    ExportedCommit(encode_records([Opened(7, "support", "ben", "careful")])),
    ExportedCommit(
        encode_records([Accepted(8, "m1", SAID, "queued", 0, None, key="k")]), {"k": b"d" * 16}
    ),
    ExportedCommit(encode_records([Recalled(9, "m1")])),
]
CONTENTS = sorted((hashlib.sha256(data).hexdigest(), data) for data in (b"one", b"\x00two", b""))


def lines(header: Header = HEADER) -> list[bytes]:
    """An export of everything that lines can tell."""
    return list(written(head_of(ANN, header, "store"), COMMITS, CONTENTS))


def test_what_was_written_is_read_back() -> None:
    """R191: whose it was, how it stood, each commit to the byte with its keys, each content."""
    told = read_export(lines())
    assert (told.session, told.header, told.withdrawals) == (ANN, HEADER, None)
    assert list(told.commits) == COMMITS
    assert [type(record) for record in told.records] == [Opened, Accepted, Recalled]
    assert list(told.contents.items()) == CONTENTS
    again = written(head_of(ANN, told.header, "other"), told.commits, told.contents.items())
    assert list(again) == lines()
    assert read_export([line + b"\n" for line in lines()]) == told


def test_other_programs_can_read_it() -> None:
    """R191: each line is one JSON object on one line, with names; what is bytes is base64."""
    told = [json.loads(line) for line in lines()]
    assert [each["is"] for each in told] == ["head"] + ["commit"] * 3 + ["content"] * 3 + ["foot"]
    assert (told[0]["format"], told[0]["version"]) == ("greenroom session", VERSION)
    assert told[0]["header"]["labels"] == {"b": "1", "a": "2"}
    assert told[2]["records"][0]["body"]["role"] == "user"
    whole = b"".join(line + b"\n" for line in lines()[:-1])
    assert told[-1]["digest"] == hashlib.sha256(whole).hexdigest()
    assert not any(b"\n" in line for line in lines())


def test_what_counts_in_a_store_alone_is_not_told_of_the_session() -> None:
    """R191, R159: no open turn; withdrawals together with the store that they are of."""
    known = structs.replace(HEADER, open_turn=3, parked=4, withdrawals=2)
    told = read_export(lines(known))
    assert told.header == HEADER
    assert told.withdrawals == Withdrawals("store", 2)


@pytest.mark.parametrize("place", range(len(lines())))
@pytest.mark.parametrize(
    "alter",
    [
        lambda whole, n: whole[:n] + whole[n + 1 :],
        lambda whole, n: whole[: n + 1] + whole[n:],
        lambda whole, n: [*whole[:n], whole[n][: len(whole[n]) // 2], *whole[n + 1 :]],
        lambda whole, n: whole[:n],
        lambda whole, n: [*whole[:n], b"", *whole[n:]],
        lambda whole, n: [*whole[:n], b"null", *whole[n + 1 :]],
        lambda whole, n: (
            [*whole[:n], *whole[n + 1 :], whole[n]] if n < len(whole) - 1 else whole[1:]
        ),
    ],
    ids=["dropped", "doubled", "cut", "cut off", "empty", "null", "moved"],
)
def test_a_line_that_is_not_as_it_was_written_is_told(
    alter: Callable[[list[bytes], int], list[bytes]], place: int
) -> None:
    """R191: missing, doubled, cut short, out of order: refused by one error, with the line."""
    with pytest.raises(BadExport) as error:
        read_export(alter(lines(), place))
    assert error.value.facts["line"] in range(len(lines()) + 2)


@given(st.data())
def test_whatever_byte_is_flipped_it_is_told(data: st.DataObject) -> None:
    """R191: no altered byte passes, wherever it is."""
    whole = lines()
    place = data.draw(st.integers(0, len(whole) - 1))
    at = data.draw(st.integers(0, len(whole[place]) - 1))
    flip = data.draw(st.integers(1, 255))
    line = bytearray(whole[place])
    line[at] ^= flip
    with pytest.raises(BadExport):
        read_export([*whole[:place], bytes(line), *whole[place + 1 :]])


def forged(*whole: bytes) -> list[bytes]:
    """Lines with a foot that fits them: what somebody makes who knows the format."""
    count = {kind: sum(b'{"is":"%b"' % kind in line for line in whole) for kind in KINDS}
    digest = hashlib.sha256(b"".join(line + b"\n" for line in whole)).hexdigest()
    told = (count[b"commit"], count[b"content"], digest.encode())
    return [*whole, b'{"is":"foot","commits":%d,"contents":%d,"digest":"%b"}' % told]


KINDS = (b"commit", b"content")
OPENED = lines()[1]
RECALLED = b'{"is":"commit","number":2,"records":[{"is":"recalled","at":1,"message":"%b"}]}'


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b'{"is":"commit","number":2,"records":[{"is":"later"}]}', "records or keys"),
        (b'{"is":"commit","number":2,"records":[{"is":"recalled"}]}', "records or keys"),
        (b'{"is":"commit","number":2,"keys":{"k":"00"},"records":[]}', "a key that none"),
        (b'{"is":"commit","number":2,"keys":{"k":"%b"},"records":[]}' % (b"00" * 16), "a key that"),
        (b'{"is":"commit","number":2,"keys":{"k":"zz"},"records":[]}', "records or keys"),
        (b'{"is":"commit","number":3,"records":[]}', "commit 3 out of its order"),
        (b'{"is":"commit","number":2,"records":[],"more":1}', "cannot be read"),
        (b'{"is":"content","digest":"%b","data":"eA=="}' % (b"0" * 64), "not '000000000000'"),
        (b'{"is":"content","digest":"","data":""}', "out of its order"),
        (RECALLED % b"\\u0000", "NUL"),
        (RECALLED % b"\\ud800", "read"),
    ],
)  # fmt: skip
def test_what_no_export_tells_is_refused_though_its_foot_fits(line: bytes, told: str) -> None:
    """R191, R194: the digest is against accidents; each line is checked by itself too."""
    with pytest.raises(BadExport, match=told):
        read_export(forged(lines()[0], OPENED, line))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b'"agent":"support"', b'"agent":7'),
        (b'"agent":"support",', b""),
        (b'"users":1', b'"users":1,"later":1'),
        (b'"users":1', b'"users":1,"open_turn":1'),
        (b'"users":1', b'"users":%d' % 2**70),
        (b'"users":1', b'"users":%d' % -(2**70)),
        (b'"input":3', b'"input":%d' % (2**53 + 1)),
        (b'"format":"greenroom session"', b'"format":"another"'),
    ],
)
def test_a_head_that_is_not_understood_is_refused(before: bytes, after: bytes) -> None:
    """R191: nothing of it is guessed."""
    head = lines()[0].replace(before, after, 1)
    assert head != lines()[0]
    with pytest.raises(BadExport):
        read_export(forged(head, OPENED))


@pytest.mark.parametrize("field", [b'"version":', b'"records":'])
def test_a_newer_format_is_refused_by_name(field: bytes) -> None:
    """R191, R240: by its own error, also if nothing else of the head is understood."""
    head = lines()[0].replace(field + b"1", field + b"2").replace(b'"session"', b'"sessions"')
    with pytest.raises(ExportTooNew, match="version"):
        read_export(forged(head, OPENED))


@pytest.mark.parametrize(
    "limits",
    [
        Limits(export_line_bytes_max=20),
        Limits(import_bytes_max=300),
        Limits(import_commits_max=2),
        Limits(record_bytes_max=10),
    ],
)
def test_what_is_over_a_bound_is_refused(limits: Limits) -> None:
    """R191, R194: a line, all of them, how many commits, one commit."""
    with pytest.raises(TooLarge) as error:
        read_export(lines(), limits)
    assert error.value.facts["bound"] in structs.astuple(limits)
