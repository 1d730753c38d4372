"""What foreign code raised: whose fault it is, and in words that can be kept."""

from types import TracebackType

import pytest
import trio

from greenroom.actors.said import SAID_MAX, pass_on, said_by, sentence_of
from greenroom.protocol.errors import ModelFailed, ToolFailed


class Mute(Exception):
    """It cannot even say what it is."""

    def __str__(self) -> str:
        raise SystemExit("no words")


class Bare(ModelFailed):
    """Its author forgot the ``__init__`` of the family."""

    def __init__(self) -> None:
        pass


class Words(str):
    """A text that no encoder takes."""

    __slots__ = ()


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("bad"), "ValueError: bad"),
        (SystemExit(), "SystemExit"),
        (ValueError("a\ud800\0b"), "ValueError: a\ufffd\ufffdb"),
        (Mute(), "Mute: it cannot be told why"),
        (Bare(), "Bare: it cannot be told why"),
    ],
)
def test_whatever_was_raised_can_be_told(error: BaseException, said: str) -> None:
    """R194: text that can be stored, and never another failure."""
    assert said_by(error) == said


def test_what_is_said_is_bounded() -> None:
    """R128: of a failure's own words, so many are kept."""
    assert len(said_by(ValueError("x" * 1_000_000))) == SAID_MAX


def test_a_sentence_of_ours_is_text_whoever_made_it() -> None:
    """R194: no text, another text, or none at all."""
    assert sentence_of(ToolFailed("Gone.")) == "Gone."
    assert sentence_of(ToolFailed("a\0b")) == "a\ufffdb"
    assert sentence_of(ToolFailed(5)) == "ToolFailed: it cannot be told why"  # type: ignore[arg-type]
    assert sentence_of(Bare()) == said_by(Bare())
    assert type(sentence_of(ToolFailed(Words("x")))) is str


async def test_interrupts_are_passed_on_in_whatever_they_are_wrapped() -> None:
    """R180: Ctrl-C is the person's and no failure of a tool."""
    inner = BaseExceptionGroup("g", [ValueError(), BaseExceptionGroup("h", [KeyboardInterrupt()])])
    for error in (KeyboardInterrupt(), inner):
        with pytest.raises(KeyboardInterrupt):
            await pass_on(error)
    await pass_on(SystemExit())
    await pass_on(BaseExceptionGroup("g", [GeneratorExit()]))


async def test_our_own_cancellation_wins_and_another_one_is_a_failure() -> None:
    """R180: a ``Cancelled`` that leaked out of somebody else's scope cancels nothing of ours."""
    with trio.CancelScope() as scope:
        scope.cancel()
        await pass_on(ValueError())
    assert scope.cancelled_caught
    leaked = await _cancelled()
    with trio.CancelScope() as scope:
        await pass_on(leaked)
    assert not scope.cancelled_caught


async def _cancelled() -> BaseException:
    """Somebody else's."""
    kept: list[BaseException] = []

    class Keeps:
        def __enter__(self) -> None: ...

        def __exit__(
            self,
            kind: type[BaseException] | None,
            error: BaseException | None,
            trace: TracebackType | None,
        ) -> None:
            assert error is not None
            kept.append(error)

    with trio.CancelScope() as scope, Keeps():
        scope.cancel()
        await trio.lowlevel.checkpoint()
    return kept[0]
