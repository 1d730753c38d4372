"""What a title is made of, and what can be one: words of persons, and one line."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.protocol.command import Pick
from greenroom.protocol.encoding import encode_message
from greenroom.protocol.errors import Missing, StoreTooNew
from greenroom.protocol.message import Content, ImagePart, TextPart, UserMessage
from greenroom.protocol.record import (
    Accepted,
    AnyRecord,
    Dispatched,
    EagerRan,
    Imported,
    NotSent,
    Opened,
    Recalled,
    Responded,
    Returned,
    TitleMade,
)
from greenroom.protocol.record_parts import Steer
from greenroom.protocol.request import request_digest
from greenroom.protocol.titling import (
    TitleWords,
    title_of,
    title_request,
    title_request_at,
    title_words,
)
from greenroom.protocol.wording import CURRENT
from tests.protocol.histories import IMPORTED, MODEL, TURN, Writing

PICK = (Pick("skills/refunds", "refunds", "Refunds"),)
IMAGE = ImagePart("image/png", "d" * 64, 9)
MANY = {"messages": 100, "size": 1 << 20}
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"))


def raw(content: Content) -> msgspec.Raw:
    return msgspec.Raw(encode_message(UserMessage(content)))


def accepted(message: str, content: Content, **told: Any) -> Accepted:
    return Accepted(0, message, raw(content), "queued", 0, None, **told)


def dispatched(message: str, turn: int = 1) -> Dispatched:
    return Dispatched(0, turn, message, turn - 1, 1, MODEL, "p", "c", "d")


def texts_of(*records: AnyRecord) -> tuple[str, ...]:
    return title_words(records, **MANY).texts


def test_a_title_is_made_of_words_that_persons_typed() -> None:
    """P185, P061, R95, R23: whatever else the records hold, in the order of the conversation."""
    result: Any = Writing()
    result.turn(
        {"rounds": [{"calls": 1, "steers": 0, "note": True, "asked": 0, "size": 9}],
         "pick": True, "note": True, "ended": True, "size": 3}
    )  # fmt: skip
    answer = msgspec.Raw(b'{"role":"assistant","content":"I answer."}')
    call = next(r for r in result.records if isinstance(r, Returned)).results[0]
    records = (
        Opened(0, "support", "ann", "p", "Instructions."),
        Imported(0, raw("Nobody knows who wrote this."), 0),
        EagerRan(0, "clock@1", "now", answer, call),
        accepted("alone", "", picks=PICK),
        dispatched("alone"),
        accepted("host", "The host says.", by="host"),
        dispatched("host", 2),
        accepted("queued first", " As typed,\n with blanks. ", picks=PICK, person="ann"),
        accepted("recalled", "Never mind."),
        accepted("refused", "Too long."),
        accepted("steer", (TextPart("Look: "), IMAGE, TextPart(" at that"))),
        NotSent(0, 3, "refused", "not_sent", "r", "c"),
        Recalled(0, "recalled"),
        accepted("image", (IMAGE,)),
        dispatched("image", 4),
        dispatched("queued first", 5),
        Responded(0, 5, 0, 0, answer),
        Returned(0, 5, 0, (), "d", (Steer("steer", 5),)),
        accepted("waits", "Still queued."),
    )
    assert title_words(records, **MANY) == TitleWords(
        (" As typed,\n with blanks. ", "Look: ", " at that"), 2
    )
    assert texts_of(*result.records) == ("turn 1 xxx",)


def test_without_words_there_is_nothing_to_name() -> None:
    """R95, R36: an invocation alone, blanks and an image wait for the first words."""
    blank = (accepted("m", " \n", picks=PICK), dispatched("m"))
    assert title_words(blank, **MANY) == TitleWords()
    image = (accepted("m", (IMAGE,)), dispatched("m"))
    assert title_words((*blank, *image), **MANY) == TitleWords()
    words = (accepted("n", "Now", picks=PICK), dispatched("n", 3))
    assert title_words((*blank, *image, *words), **MANY) == TitleWords(("Now",), 1)


@given(st.lists(TURN, max_size=4), IMPORTED)
def test_of_any_history_only_what_was_typed_counts(turns: Any, imported: list[str]) -> None:
    """P185, R95: not notes, results, answers, snapshots or what was imported."""
    writing = Writing()
    writing.imported(imported)
    for told in turns:
        writing.turn(told)
    typed = [
        json.loads(bytes(r.body))["content"] for r in writing.records if isinstance(r, Accepted)
    ]
    assert list(texts_of(*writing.records)) == typed


@given(st.lists(WORDS.filter(str.strip), min_size=1, max_size=5), st.integers(1, 4), st.data())
def test_the_first_words_are_taken_and_cut_between_characters(
    typed: list[str], messages: int, data: st.DataObject
) -> None:
    """R95, R23: each as it was typed, and what is cut is a beginning of it."""
    size = data.draw(st.integers(1, 40))
    records: list[AnyRecord] = []
    for turn, words in enumerate(typed, 1):
        records += [accepted(f"m{turn}", words), dispatched(f"m{turn}", turn)]
    found = title_words(records, messages, size)
    assert 1 <= found.messages <= messages
    assert sum(len(text.encode()) for text in found.texts) <= size
    assert all(whole.startswith(text) for whole, text in zip(typed, found.texts, strict=False))
    assert list(found.texts[:-1]) == typed[: max(0, len(found.texts) - 1)]
    # What comes later moves nothing of a request that was made.
    records += [accepted("later", "Later"), dispatched("later", 9)]
    assert title_words(records, found.messages, size) == found


@given(st.lists(WORDS, min_size=1, max_size=4))
def test_no_text_ends_early(texts: list[str]) -> None:
    """R23, R95: what stands in the request reads back as what was typed, byte for byte."""
    request = title_request("m", texts, CURRENT)
    (message,) = map(json.loads, request.messages)
    intro, *lines = message["content"].split("\n")
    assert intro == CURRENT.typed.partition("\n")[0]
    assert [json.loads(line) for line in lines] == texts
    assert (request.system, request.tools, request.parameters) == (CURRENT.titling, b"[]", b"{}")


def made(request: str, **told: Any) -> TitleMade:
    given = {"model": "m", "wording": CURRENT.version, "messages": 1, "size": 100}
    return TitleMade(0, request=request, **{**given, **told})


def test_a_request_is_rebuilt_from_the_records() -> None:
    """R196: each by itself, whatever was typed since; another digest is not its own."""
    digest = request_digest(title_request("m", ["Hi"], CURRENT))
    records: list[AnyRecord] = [
        accepted("a", "Hi"),
        dispatched("a"),
        accepted("b", "there"),
        dispatched("b", 2),
        made(digest),
        made("0" * 64, messages=2),
    ]
    first, second = title_request_at(records, 0), title_request_at(records, -1)
    assert first.is_exact
    assert first.request.canonical() == title_request("m", ["Hi"], CURRENT).canonical()
    assert not second.is_exact
    assert second.request.canonical() == title_request("m", ["Hi", "there"], CURRENT).canonical()


def test_a_request_that_never_was_is_missing() -> None:
    """R196, R201: by its own error; and so is one with words of a later release."""
    with pytest.raises(Missing, match="the session has 1"):
        title_request_at([made("")], 1)
    with pytest.raises(StoreTooNew):
        title_request_at([made("", wording="99")], 0)


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ("A late order", "A late order"),
        ('\n\n "A late order" \nBecause it is late.', "A late order"),
        ("**Title: „Späte Bestellung“**", "Späte Bestellung"),
        ("# 『遅い注文』", "遅い注文"),
        ('"Spread" and "hole"', '"Spread" and "hole"'),
        ("A\x1b[31m\tlate\u202e\u200b order\x07", "A [31m late order"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("", ""),
        (' \n"" \n--- \n?!', ""),
        ("é" * 30, "é" * 8 + "…"),
        ("twenty bytes of words", "twenty bytes of w…"),
    ],
)
def test_what_of_an_answer_is_a_title(answer: str, title: str) -> None:
    """R96: its first line with a word in it, bare and bounded; else nothing."""
    assert title_of(answer, 20) == title


@given(WORDS, st.integers(1, 60))
def test_a_title_is_one_line_within_its_bound(answer: str, size: int) -> None:
    """R96, R194: whatever a model answers."""
    title = title_of(answer, size)
    assert len(title.encode()) <= size
    assert title == title.strip()
    assert len(title.splitlines()) <= 1
    assert not any(ord(sign) < 32 for sign in title)
