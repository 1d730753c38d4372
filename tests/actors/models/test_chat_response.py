"""Events become one whole response, or a typed failure; never a part of one."""

import json
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.actors.models.chat_response import Answer, _Usage, usage_of
from greenroom.actors.models.port import ModelResponse, RequestedCall
from greenroom.protocol.errors import ModelFailed
from greenroom.protocol.limits import Limits
from greenroom.protocol.message import OpaquePart
from greenroom.protocol.usage import Usage
from tests.actors.models.provider import Heard


def chunk(finish: str | None = None, **delta: object) -> str:
    return json.dumps({"choices": [{"delta": delta, "finish_reason": finish}]})


def answered(*data: str, sink: Heard | None = None, answer: Answer | None = None) -> ModelResponse:
    answer, sink = answer or Answer("m"), sink or Heard()
    for one in data:
        answer.take(one, sink)
    return answer.whole(sink)


def calling(index: int | None, id_: str | None, name: str | None, arguments: str) -> str:
    function = {"name": name, "arguments": arguments}
    return chunk(tool_calls=[{"index": index, "id": id_, "function": function}])


@given(st.lists(st.text(min_size=1)))
def test_text_is_what_was_streamed(pieces: list[str]) -> None:
    """P025: reader and store get the same words."""
    sink = Heard()
    response = answered(*[chunk(content=piece) for piece in pieces], chunk("stop"), sink=sink)
    assert response.text == "".join(pieces)
    assert sink.heard == response.text.replace("\0", "\ufffd")


def test_an_answer_without_an_end_is_cut() -> None:
    """R179: temporary, and nothing of it is returned."""
    with pytest.raises(ModelFailed) as caught:
        answered(chunk(content="Hal"))
    assert caught.value.temporary


def test_calls_are_put_together() -> None:
    response = answered(
        calling(0, "a", "look", ""),
        calling(0, None, None, '{"at"'),
        calling(1, "b", "go", "{}"),
        calling(0, None, None, ":1}"),
        chunk("tool_calls"),
    )
    assert response.calls == (
        RequestedCall("a", "look", '{"at":1}'),
        RequestedCall("b", "go", "{}"),
    )
    assert response.finish == "calls"


@pytest.mark.parametrize("index", [None, 0])
def test_calls_of_servers_that_do_not_count_are_kept_apart(index: int | None) -> None:
    """R181: whole calls without an index, or all under the same one."""
    response = answered(
        calling(index, "a", "look", "{}"), calling(index, "b", "go", "{}"), chunk("stop")
    )
    assert [call.name for call in response.calls] == ["look", "go"]
    assert response.finish == "calls"


def test_ids_may_be_empty_or_repeat() -> None:
    """P011, P012: they are kept as they came."""
    response = answered(calling(0, "", "a", "{}"), calling(1, "", "b", "{}"), chunk("tool_calls"))
    assert [(call.id, call.name) for call in response.calls] == [("", "a"), ("", "b")]


@pytest.mark.parametrize(
    ("told", "finish"),
    [("stop", "stop"), ("length", "length"), ("content_filter", "filter"), ("eos", "stop")],
)
def test_reasons_to_stop(told: str, finish: str) -> None:
    assert answered(chunk(told)).finish == finish


def test_half_characters_in_two_events_are_one_character() -> None:
    """P127: a character that was cut by the wire is not lost."""
    sink = Heard()
    events = ('{"choices":[{"delta":{"content":"a\\ud83d"}}]}',
              '{"choices":[{"delta":{"content":"\\ude00b"}}]}')  # fmt: skip
    response = answered(*events, chunk("stop"), sink=sink)
    assert response.text == sink.heard == "a\N{GRINNING FACE}b"


def test_a_lone_half_is_kept_for_the_turn_to_mend() -> None:
    """P127: the reader sees a replacement, the response what came."""
    sink = Heard()
    data = '{"choices":[{"delta":{"content":"a\\ud83d"},"finish_reason":"stop"}]}'
    assert answered(data, sink=sink).text == "a\ud83d"
    assert sink.heard == "a\ufffd"


def test_reasoning_is_kept_as_one_block_or_dropped_whole() -> None:
    """R176: it is the model's own, and no text."""
    data = (
        chunk(reasoning_content="Hm"),
        chunk(reasoning_content="m."),
        chunk("stop", content="A"),
    )
    kept = answered(*data, answer=Answer("m", keep_reasoning=True))
    assert kept.opaque == (OpaquePart("m", b'{"reasoning_content":"Hmm."}'),)
    assert (kept.text, answered(*data).opaque) == ("A", ())


@pytest.mark.parametrize(
    "data", ["", "{", "[]", "null", '"x"', '{"choices":1}', "[" * 5_000, '{"usage":[]}']
)
def test_garbage_is_a_permanent_failure(data: str) -> None:
    with pytest.raises(ModelFailed, match="no chat completion") as caught:
        answered(data)
    assert not caught.value.temporary


@given(st.text())
def test_no_text_raises_anything_else(data: str) -> None:
    with suppress(ModelFailed):
        answered(data)


@pytest.mark.parametrize(
    ("fault", "temporary"),
    [
        ({"message": "overloaded", "code": 529}, True),
        ({"message": "slow down", "code": 429}, True),
        ({"message": "odd", "type": "server_error"}, True),
        ({"message": "too long", "code": 400}, False),
        ("broken", True),
    ],
)
def test_a_fault_in_the_stream_is_told(fault: object, temporary: bool) -> None:
    """R179: its code says whether the same bytes may succeed."""
    with pytest.raises(ModelFailed, match="The provider reports") as caught:
        answered(json.dumps({"error": fault}))
    assert caught.value.temporary == temporary


@pytest.mark.parametrize(
    ("limits", "data"),
    [
        (Limits(arguments_bytes_max=10), calling(0, "a", "go", "x" * 11)),
        (Limits(calls_max=0), calling(0, "a", "go", "")),
    ],
)
def test_an_answer_is_bounded(limits: Limits, data: str) -> None:
    with pytest.raises(ModelFailed, match=r"over Limits\.") as caught:
        answered(data, answer=Answer("m", limits=limits))
    assert not caught.value.temporary


def told_usage(**told: object) -> Usage:
    return usage_of(msgspec.convert(told, _Usage))


def test_usage_that_contains_its_parts() -> None:
    """R190, P182: cached and written tokens inside the prompt, reasoning inside the completion."""
    usage = told_usage(
        prompt_tokens=100, completion_tokens=30, total_tokens=130,
        prompt_tokens_details={"cached_tokens": 60, "cache_write_tokens": 15},
        completion_tokens_details={"reasoning_tokens": 10},
    )  # fmt: skip
    assert usage == Usage(25, 60, 15, 20, 10)
    assert usage.total == 130


@pytest.mark.parametrize(
    ("total", "usage"),
    [
        (190, Usage(100, 60, 0, 20, 10)),
        (140, Usage(40, 60, 0, 30, 10)),
        (200, Usage(100, 60, 0, 30, 10)),
    ],
)
def test_usage_that_stands_beside_its_parts(total: int, usage: Usage) -> None:
    """P182: the provider's total tells which of them are beside."""
    told = told_usage(
        prompt_tokens=100, completion_tokens=30, total_tokens=total,
        prompt_tokens_details={"cached_tokens": 60},
        completion_tokens_details={"reasoning_tokens": 10},
    )  # fmt: skip
    assert told == usage
    assert told.total == total


def test_usage_of_another_word() -> None:
    told = told_usage(prompt_tokens=10, completion_tokens=1, prompt_cache_hit_tokens=4)
    assert told == Usage(6, 4, 0, 1, 0)


counts = st.none() | st.integers(0, 10**6)


@given(
    st.fixed_dictionaries(
        {
            "prompt_tokens": counts,
            "completion_tokens": counts,
            "total_tokens": counts,
            "prompt_tokens_details": st.none()
            | st.fixed_dictionaries({"cached_tokens": counts, "cache_write_tokens": counts}),
            "completion_tokens_details": st.none()
            | st.fixed_dictionaries({"reasoning_tokens": counts}),
        }
    )
)
def test_buckets_are_never_negative_and_hold_at_least_what_was_told(told: dict[str, Any]) -> None:
    """R190: whatever a provider counts."""
    usage = told_usage(**told)
    assert min(usage.input, usage.cache_read, usage.cache_write) >= 0
    assert min(usage.output, usage.reasoning) >= 0
    assert usage.total >= (told["prompt_tokens"] or 0) + (told["completion_tokens"] or 0)
