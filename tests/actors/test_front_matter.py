"""Laws of heads: strict for the owner's own files, lenient for what others publish."""

import importlib
from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.actors.front_matter import (
    HEAD_CHARACTERS_MAX,
    page_of,
    yaml_mapping,
    yaml_value,
)
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


@pytest.mark.parametrize(
    "text",
    ["a: 1\na: 2\n", "b: {a: 1, a: 2}", "- [{a: 1, b: 2, a: 3}]", "x: &x {a: 1, a: 1}\ny: *x"],
)
def test_a_key_that_stands_twice_is_a_slip(text: str) -> None:
    """R131: where it is read so, the last of them does not win silently."""
    assert yaml_value(text)
    with pytest.raises(InvalidInput, match="'a' twice"):
        yaml_value(text, unique=True)


@pytest.mark.parametrize(
    "text", ["", "a: 1\nb: 1", "- a\n- a", "x: &x {a: 1}\ny: *x\nz: *x", "&a [*a]", "7"]
)
def test_what_stands_once_in_its_mapping_is_read(text: str) -> None:
    """R131: aliases and lists repeat as they like."""
    assert repr(yaml_value(text, unique=True)) == repr(yaml_value(text))


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
