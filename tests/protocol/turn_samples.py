"""Turn records, for tests of what is read from them."""

from msgspec import Raw

from greenroom.protocol.contributor import ToolFacts
from greenroom.protocol.eager import Given
from greenroom.protocol.receipt import End
from greenroom.protocol.turn import (
    CallRecord,
    Cause,
    KeptPromptUse,
    ModelCall,
    NoteUse,
    SkillUse,
    TurnRecord,
)
from greenroom.protocol.usage import Usage
from tests.protocol.prompt_samples import user


def given(*tools: str) -> Given:
    """Tools that read."""
    return Given(tools={name: ToolFacts("read") for name in tools})


def prompt(composition: str, round_: int = 0, summarised: int = 0) -> KeptPromptUse:
    """A kept prompt as records name it, behind a summary of so many messages."""
    return KeptPromptUse(round_, composition, summarised_before=summarised)


def told(
    contributor: str, words: str = "News.", round_: int = 0, kind: str = "declared"
) -> NoteUse:
    """A note that a turn was told."""
    return NoteUse(round_, kind, contributor, Raw(user(words)))


def turn(
    *prompts: KeptPromptUse,
    number: int = 1,
    agent: str = "support",
    rounds: int = 1,
    causes: tuple[Cause, ...] = (),
    notes: tuple[NoteUse, ...] = (),
    skills: tuple[SkillUse, ...] = (),
    calls: int = 0,
    end: End | None = "done",
    usage: Usage = Usage(),  # noqa: B008 - frozen
    with_person: bool = False,
) -> TurnRecord:
    """A turn of so many rounds, each one request, and then of others for their causes."""
    own = [ModelCall(number, "turn", f"r{number}", Usage()) for number in range(rounds)]
    others = [ModelCall(0, cause, "other", Usage()) for cause in causes]
    return TurnRecord(
        turn=number,
        message=f"m{number}",
        ordinal=number - 1,
        attempt=1,
        agent=agent,
        model="m",
        preset="read-only",
        prompts=prompts,
        skills=skills,
        calls=tuple(CallRecord(f"c{n}", "look", "done") for n in range(calls)),
        model_calls=(*own, *others),
        absorbed=(),
        started=1_000,
        ended=None if end is None else 3_000,
        end=end,
        reason="",
        usage=usage,
        with_person=with_person,
        notes=notes,
    )
