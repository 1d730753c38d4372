"""Laws of the budget: all of a request is counted, and a refusal explains itself."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.protocol.budget import (
    Budget,
    Spend,
    SpendTable,
    TokenEstimate,
    budget_of,
    check,
    images_in,
    message_tokens,
    room_for_conversation,
    spend_table,
)
from greenroom.protocol.composition import ToolDeclaration, canonical_tools, render
from greenroom.protocol.encoding import encode_message
from greenroom.protocol.errors import OverBudget
from greenroom.protocol.limits import Limits
from greenroom.protocol.message import AssistantMessage, ImagePart, TextPart, ToolMessage
from greenroom.protocol.permission import PRESETS
from greenroom.protocol.projection import Source, expansion_of
from greenroom.protocol.runtime_context import snapshot_of
from greenroom.protocol.wording import CURRENT
from tests.protocol.prompt_samples import composition, skill, text, user

COUNTER = TokenEstimate(3.0)
IMAGE = ImagePart("image/png", "ab" * 32, 1_000_000)
KEPT = composition(
    bound=(skill("deploy", "x" * 3_000), skill("review", "y" * 300)),
    extra=(text("stance"),),
    tools=canonical_tools([ToolDeclaration("look", "Looks.", {"type": "object"})]),
)
SYSTEM = render(KEPT, PRESETS.strictest, with_person=True)
MESSAGES = [
    user("Hi."),
    encode_message(AssistantMessage("Hello.")),
    encode_message(ToolMessage("c", "found")),
    user((TextPart("See:"), IMAGE)),
]


@given(st.text(max_size=50), st.floats(1.0, 8.0))
def test_an_estimate_counts_bytes_and_rounds_up(words: str, bytes_per_token: float) -> None:
    """R100: a text and its UTF-8 are the same; never low."""
    estimate = TokenEstimate(bytes_per_token)
    assert estimate.tokens(words) == estimate.tokens(words.encode())
    assert estimate.tokens(words) == math.ceil(len(words.encode()) / bytes_per_token)


def test_what_stays_the_same_is_counted_once() -> None:
    """R100: the whole system string, live section included, and the tools."""
    budget = budget_of(KEPT, SYSTEM, COUNTER, 100_000, Limits(output_tokens_reserve=1_000))
    assert budget.fixed >= COUNTER.tokens(SYSTEM.text) + COUNTER.tokens(KEPT.tools)
    assert budget.fixed <= COUNTER.tokens(SYSTEM.text) + COUNTER.tokens(KEPT.tools) + 10
    assert (budget.reserve, budget.safety) == (1_000, 5_000)


@pytest.mark.parametrize(
    ("window", "output_tokens", "reserve"),
    [
        (128_000, None, 4_096),
        (128_000, 512, 512),
        (128_000, 64_000, 4_096),
        (4_096, None, 1_024),
        (4_096, 512, 512),
        (0, None, 0),
    ],
)
def test_the_reserve_is_no_more_than_the_model_can_use(
    window: int, output_tokens: int | None, reserve: int
) -> None:
    """R100: the host's reserve, the model's longest answer, a quarter of the window: the least."""
    limits = Limits(output_tokens_reserve=4_096)
    budget = budget_of(KEPT, SYSTEM, COUNTER, window, limits, output_tokens)
    assert budget.reserve == reserve


def test_a_request_fits_to_the_last_token() -> None:
    """R100, R105: one number a request; the first token too many is refused."""
    budget = Budget(window=100, fixed=40, reserve=10, safety=5)
    assert budget.room == 45
    assert budget.fits(45)
    assert not budget.fits(46)


@given(st.integers(0, 10**6), st.integers(0, 10**7), st.integers(0, 10**5), st.integers(0, 10**5))
def test_room_is_never_below_zero(window: int, fixed: int, reserve: int, safety: int) -> None:
    """R101: the system string is spent first, and may take all."""
    room = room_for_conversation(window, fixed, reserve, safety)
    assert room == max(0, window - fixed - reserve - safety)
    budget = Budget(window, fixed, reserve, safety)
    assert budget.room == room
    assert budget.fits(room) or fixed + reserve + safety > window
    assert not budget.fits(room + 1)


def test_an_image_costs_what_the_model_declares() -> None:
    """R100, P095: whatever its size; a text about images is a text."""
    body = user((TextPart('{"type":"image"}'), IMAGE, IMAGE))
    assert images_in(body) == 2
    assert images_in(user('"image" {"type":"image"} image')) == 0
    assert images_in(user("image")) == images_in(encode_message(AssistantMessage("image"))) == 0
    assert message_tokens(body, COUNTER, 1_600) == COUNTER.tokens(body) + 3_200


def table_of_all() -> SpendTable:
    budget = budget_of(KEPT, SYSTEM, COUNTER, 2_000, Limits(output_tokens_reserve=100))
    return spend_table(budget, KEPT, SYSTEM, MESSAGES, COUNTER, image_tokens=1_600)


def test_the_table_names_every_part() -> None:
    """R102: contributors, skills, tools, message groups, images, reserve and safety."""
    parts = [row.part for row in table_of_all().rows]
    assert parts == [
        "preamble",
        "agent",
        "skill:skills/deploy",
        "skill:skills/review",
        "text:stance",
        "permissions",
        "tools",
        "messages: user",
        "messages: assistant",
        "messages: tool",
        "images",
        "output reserve",
        "safety",
    ]
    owners = {row.part: row.owner for row in table_of_all().rows}
    assert owners["text:stance"] == "stance@1"


def test_the_table_sums_to_what_was_compared() -> None:
    """R102: a refusal is never explained by figures that do not add up to it."""
    budget = budget_of(KEPT, SYSTEM, COUNTER, 2_000, Limits(output_tokens_reserve=100))
    messages = sum(message_tokens(body, COUNTER, 1_600) for body in MESSAGES)
    assert table_of_all().total == budget.fixed + budget.reserve + budget.safety + messages


def test_messages_are_grouped_by_origin_where_it_is_known() -> None:
    """R102, R104: what a snapshot added, and what is not history, has rows of its own."""
    expansion = expansion_of(snapshot_of(0, [skill("big")], 0, CURRENT), KEPT)
    sources = [
        Source("history", 0, expansion),
        Source("history", 1),
        Source("tool_repair"),
        Source("legacy_context"),
    ]
    budget = Budget(1, 1, 1, 1)
    table = spend_table(budget, KEPT, SYSTEM, MESSAGES, COUNTER, sources=sources)
    assert [row.part for row in table.rows if row.part.startswith("messages")] == [
        "messages: user with skills/big",
        "messages: assistant",
        "messages: tool_repair",
        "messages: legacy_context",
    ]


def test_a_refusal_explains_itself() -> None:
    """R102, P094: the table stands in the message, the largest part first."""
    with pytest.raises(OverBudget) as refusal:
        check(Budget(2_000, 3_000, 0, 0), 1, table_of_all)
    told = str(refusal.value)
    assert "needs 3,4" in told
    assert "The largest part is images." in told
    assert told.index("skill:skills/deploy") < told.index("skill:skills/review")
    assert refusal.value.facts["table"] == str(table_of_all())


def test_the_table_reads_as_one() -> None:
    """R102: aligned columns, total and window last, nothing of no size."""
    table = SpendTable((Spend("a", "a@1", 5), Spend("long", "", 12_000), Spend("none", "", 0)), 99)
    assert str(table) == ("long    12,000\na            5  a@1\ntotal   12,005\nwindow      99")


def test_no_table_is_made_for_what_fits() -> None:
    """R105: the check before each round costs a comparison."""

    def never() -> SpendTable:
        pytest.fail("nobody asked for a table")

    check(Budget(100, 40, 10, 5), 45, never)
