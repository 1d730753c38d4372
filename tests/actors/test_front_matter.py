"""Laws of heads: strict for the owner's own files, lenient for what others publish."""

import importlib
from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.actors.front_matter import HEAD_CHARACTERS_MAX, page_of, yaml_mapping
from greenroom.protocol.errors import ExtraMissing, InvalidInput


def test_a_page_is_a_head_and_a_body() -> None:
    """Line ends and a byte order mark of any editor read alike."""
    page = page_of(
        b"\xef\xbb\xbf---\r\nname: a\r\nlist: [b, c]\r\n---\r\n\r\nBody\r\n---\r\nmore\r\n"
    )
    assert page.head == {"name": "a", "list": ["b", "c"]}
    assert page.body == "Body\n---\nmore"


def test_a_page_without_a_head_is_body() -> None:
    """A plain Markdown file is a page, also one with a rule in it."""
    page = page_of(b"Words\n---\nmore\n")
    assert (page.head, page.body) == ({}, "Words\n---\nmore")


@pytest.mark.parametrize(
    "data",
    [
        b"\xff",
        b"---\nname: a\n",
        b"---\n- a\n---\n",
        b"---\na: [\n---\n",
        b"---\n1: a\n---\n",
        b"---\na: 2026-99-99\n---\n",
        b"---\na: !!python/object/apply:os.getcwd []\n---\n",
        b"---\na: " + b"[" * 20_000 + b"\n---\n",
        b"---\na: " + b"x" * HEAD_CHARACTERS_MAX + b"\n---\n",
        b"---\n? {a: b}\n: c\n---\n",
    ],
)
def test_a_broken_head_is_one_typed_error(data: bytes) -> None:
    """S1: whatever YAML holds, it is refused or plain data."""
    with pytest.raises(InvalidInput):
        page_of(data)


def test_a_head_that_is_nearly_yaml_is_salvaged() -> None:
    """A colon in a description is the commonest slip; its lines are read one by one."""
    data = b"---\nname: 'a'\ndescription: Use when: always\nlist:\n  - x\n---\nBody"
    page = page_of(data, lenient=True)
    assert page.head == {"name": "a", "description": "Use when: always"}
    assert page.salvaged
    with pytest.raises(InvalidInput):
        page_of(data)
    with pytest.raises(InvalidInput):
        page_of(b"---\n[[[\n---\n", lenient=True)


@given(st.binary(max_size=60))
def test_no_bytes_raise_anything_else(data: bytes) -> None:
    """R194: a file of any bytes is a page or a typed error."""
    for lenient in (True, False):
        try:
            page_of(b"---\n" + data + b"\n---\n", lenient=lenient)
        except InvalidInput:
            continue


def test_without_the_parser_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The core does not depend on PyYAML: the extra is named."""

    def absent(_: str) -> NoReturn:
        raise ImportError

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(ExtraMissing, match="workspace"):
        yaml_mapping("a: b")
