"""Laws of spend by owner: each part is counted as a request is, and all of it is told once."""

from msgspec import structs

from greenroom.protocol.budget import budget_of, message_tokens
from greenroom.protocol.composition import (
    SystemString,
    ToolDeclaration,
    canonical_tools,
)
from greenroom.protocol.message import ImagePart
from greenroom.protocol.spending import kept_spend, owners_in, spend_of
from greenroom.protocol.tokens import TokenEstimate
from tests.protocol.prompt_samples import composition, note, skill, text, user
from tests.protocol.request_samples import beside, said, sent

COUNTER = TokenEstimate(4.0)
IMAGE = ImagePart("image/png", "ab" * 32, 1_000_000)
KEPT = composition(
    bound=(skill("plan"),),
    extra=(text("money"), text("hello", placement="conversation"), note("pause"), note("day")),
    person="ada",
    person_text="Ada counts.",
    tools=canonical_tools([ToolDeclaration("look", "Looks.", {"type": "object"})]),
)
PAUSE = beside("note", "[platform note] An hour passed.", "pause@1")
DAY = beside("note", "[platform note] It is Monday.", "day@1")
REQUEST = sent(
    said("Hi.", 0),
    said("Hello.", 1, by="assistant"),
    PAUSE,
    DAY,
    said("Again", 2),
    PAUSE,
    kept=KEPT,
    person="ada",
)


def test_every_part_of_a_request_is_told_with_whose_it_is() -> None:
    """R77, R104: sections, tools, messages by group, and notes by who declared them."""
    rows = [(row.part, row.contributor.rpartition("@")[0], row.owner) for row in spend_of(REQUEST)]
    assert rows == [
        ("preamble", "preamble", "operator"),
        ("agent", "agent", "author"),
        ("skill:skills/plan", "skills/plan", "author"),
        ("text:money", "money", "workspace"),
        ("person", "person", "person"),
        ("permissions", "", None),
        ("tools", "", None),
        ("messages: user", "", None),
        ("messages: assistant", "", None),
        ("messages: note", "pause", "workspace"),
        ("messages: note", "day", "workspace"),
    ]


def test_tokens_are_those_that_the_request_was_measured_with() -> None:
    """R77, R100: what is told by owner sums to what is checked before a request is sent."""
    system = SystemString(tuple(REQUEST.sections), REQUEST.request.system)
    budget = budget_of(KEPT, system, COUNTER, 100_000)
    messages = sum(message_tokens(body, COUNTER) for body in REQUEST.request.messages)
    assert sum(row.tokens for row in spend_of(REQUEST, COUNTER)) == budget.fixed + messages


def test_bytes_are_those_of_texts_and_messages() -> None:
    """R77: each section with the blank line behind it, each message as it is sent."""
    rows = {(row.part, row.contributor): row.bytes for row in spend_of(REQUEST)}
    assert rows["text:money", "money@1"] == len(b"Money is in pence.\n\n")
    assert rows["tools", ""] == len(KEPT.tools)
    assert rows["messages: note", "pause@1"] == 2 * len(PAUSE[1])
    assert rows["messages: user", ""] == len(user("Hi.")) + len(user("Again"))


def test_an_image_costs_what_the_model_declares() -> None:
    """R77, P095: its own bytes are no part of a request."""
    request = sent(said("", 0), kept=KEPT)
    source, _ = said("", 0)
    request = sent((source, user((IMAGE,))), kept=KEPT)
    [images] = [row for row in spend_of(request, image_tokens=900) if row.part == "images"]
    assert (images.tokens, images.bytes) == (900, 0)


def test_what_a_kept_prompt_takes_up() -> None:
    """R77, R103: section by section and as each is counted against its budget."""
    rows = kept_spend(KEPT, COUNTER)
    told = {row.contributor.rpartition("@")[0] or row.part: row for row in rows}
    assert list(told) == ["preamble", "agent", "skills/plan", "money", "person", "hello", "tools"]
    money = told["money"]
    assert (money.bytes, money.tokens, money.owner, money.placement) == (
        20,
        5,
        "workspace",
        "agent",
    )
    sent_rows = {row.part: row for row in spend_of(REQUEST, COUNTER)}
    assert [row for row in rows if row.part != "text:hello"] == [
        sent_rows[row.part] for row in rows if row.part in sent_rows
    ]


def test_whoever_has_no_section_has_an_owner_too() -> None:
    """R77: notes and runs are asked about like texts."""
    owners = owners_in(structs.replace(KEPT, sections=()))
    assert owners["pause@1"] == ("workspace", "message")
    assert owners["hello@1"] == ("workspace", "conversation")
