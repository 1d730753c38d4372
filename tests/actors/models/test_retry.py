"""Temporary faults are met with the same call again, permanent ones are not (R179)."""

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from greenroom.actors.models.port import ModelResponse, Sink
from greenroom.actors.models.retry import Attempt, Retries, luck_of, retried
from greenroom.protocol.errors import ModelFailed
from tests.actors.models.provider import Heard, session_of

BUSY = ModelFailed("Busy.", temporary=True)


def trying(*steps: ModelFailed | str, log: list[float] | None = None) -> Attempt:
    """An attempt that plays these, and notes when each was begun."""
    left = list(steps)

    async def attempt(sink: Sink) -> ModelResponse:
        if log is not None:
            log.append(trio.current_time())
        step = left.pop(0)
        sink.text("half" if isinstance(step, ModelFailed) else step)
        if isinstance(step, ModelFailed):
            raise step
        return ModelResponse(step)

    return attempt


async def test_a_temporary_fault_is_tried_again(
    autojump_clock: trio.testing.MockClock, sink: Heard
) -> None:
    """R179, P024: the answer is that of the try that worked; half an answer is taken back."""
    response = await retried(trying(BUSY, BUSY, "Yes."), session_of(), sink)
    assert response.text == sink.heard == "Yes."
    assert sink.restarts == 2


@pytest.mark.parametrize(("begun", "restarts"), [(True, 2), (False, 0)])
async def test_an_attempt_beside_one_that_may_have_been_paid_for_is_told(
    autojump_clock: trio.testing.MockClock, sink: Heard, begun: bool, restarts: int
) -> None:
    """R233: also where no text came; but not behind a refusal, which costs nothing."""
    left = [ModelFailed("Busy.", temporary=True, begun=begun) for _ in range(2)]

    async def attempt(_: Sink) -> ModelResponse:
        if left:
            raise left.pop()
        return ModelResponse("Yes.")

    assert (await retried(attempt, session_of(), sink)).text == "Yes."
    assert sink.restarts == restarts


async def test_a_permanent_fault_is_raised_as_it_came(sink: Heard) -> None:
    """R179, P005: one attempt."""
    wrong = ModelFailed("Wrong.")
    with pytest.raises(ModelFailed) as caught:
        await retried(trying(wrong, "never"), session_of(), sink)
    assert caught.value is wrong


async def test_attempts_are_bounded(autojump_clock: trio.testing.MockClock, sink: Heard) -> None:
    """R179, P019: after the last one the fault is told, with how often it was tried."""
    with pytest.raises(ModelFailed) as caught:
        await retried(trying(*[BUSY] * 3, "never"), session_of(), sink, Retries(attempts_max=3))
    assert caught.value.temporary
    assert caught.value.facts["attempts"] == 3
    assert caught.value.sentence == "Busy. Tried 3 times."


async def test_seconds_are_bounded(autojump_clock: trio.testing.MockClock, sink: Heard) -> None:
    """R179: a wait that would end too late is not begun, and what was asked for is told."""
    far = ModelFailed("Busy.", temporary=True, retry_after=3600.0)
    with pytest.raises(ModelFailed) as caught:
        await retried(trying(far, "never"), session_of(), sink)
    assert caught.value.retry_after == 3600.0
    assert trio.current_time() < 1.0


async def test_a_herd_comes_back_spread(autojump_clock: trio.testing.MockClock) -> None:
    """P167: never before Retry-After, and a hundred sessions not at once."""
    full = ModelFailed("Full.", temporary=True, retry_after=2.0)
    log: list[float] = []
    begun = trio.current_time()
    async with trio.open_nursery() as nursery:
        for number in range(100):
            attempt = trying(full, "Yes.", log=log)
            nursery.start_soon(retried, attempt, session_of(f"s{number}"), Heard())
    again = sorted(at - begun for at in log[100:])
    assert again[0] >= 2.0
    assert again[-1] <= 3.0
    tenths = [sum(tenth <= (at - 2.0) * 10 < tenth + 1 for at in again) for tenth in range(10)]
    assert max(tenths) <= 25


@given(st.integers(1, 60), st.none() | st.floats(0, 1e4), st.floats(0, 1, exclude_max=True))
def test_a_wait_is_never_less_than_asked_nor_more_than_bound(
    attempt: int, asked: float | None, luck: float
) -> None:
    """R179: Retry-After is kept to; without one the wait is under its cap."""
    retries = Retries()
    wait = retries.wait(attempt, asked, luck)
    assert wait >= (asked or 0.0)
    assert wait <= (asked or 0.0) + max(retries.wait_seconds_max, (asked or 0.0) / 2)


@given(st.text(), st.integers(0, 9))
def test_luck_is_a_function_of_who_asks(key: str, attempt: int) -> None:
    """R179: a simulated run waits the same each time."""
    luck = luck_of(session_of(key), attempt)
    assert 0.0 <= luck < 1.0
    assert luck == luck_of(session_of(key), attempt)
    assert luck != luck_of(session_of(key), attempt + 1)
