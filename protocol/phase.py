"""The phases of a session's actor, and the table of its legal steps.

All that decides whether a step is legal lives in ``TABLE``; no flag stands beside a phase. A step
that the table does not have raises one typed error and changes nothing. Every phase is a key, also
where nothing leads out of it.

What is true in each phase:

=================  ==============================================================================
opening            the session is being read back; nothing may be said to it yet
idle               no turn runs; whether it is *quiet* (C8) also depends on queue and saves
configuring        a preset or model is on its way to disk; the former one is in force
compacting         a summary or a composition is made, or on its way to disk: of an idle session, of
                   one whose turn is not dispatched, or between two rounds of a turn
drafting           a message was taken; nothing of its turn is committed
saving_dispatch    the first request is known and its commit is on its way; nothing was sent
model              a committed request is with the model
saving_response    intents to write are on their way, of a response or of answers to questions; none
                   of these tools has started
tools              tools of a response run (a response of reading tools only is not committed yet)
saving_questions   what a round asks about is on its way, with the results that it has already
parked             a turn waits for answers; it has no task, and needs no place in memory (R161)
saving_outcomes    results, steers and the next request's digest are on their way
settling           the end of the turn is on its way
asking             an eager run of its opening waits for approval; the message that began the
                   conversation is queued still (R215)
held               a hold keeps it still: what is sent is accepted and waits, nothing else may be
                   changed (R159)
unsaved            something could not be written and is kept; only ``flush`` leads on
set_aside          the session cannot be read back; it takes nothing
closed             the actor is gone
=================  ==============================================================================
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from greenroom.protocol.errors import IllegalStep


class Phase(StrEnum):
    """Where a session's actor stands."""

    OPENING = "opening"
    IDLE = "idle"
    CONFIGURING = "configuring"
    COMPACTING = "compacting"
    DRAFTING = "drafting"
    SAVING_DISPATCH = "saving_dispatch"
    MODEL = "model"
    SAVING_RESPONSE = "saving_response"
    TOOLS = "tools"
    SAVING_QUESTIONS = "saving_questions"
    PARKED = "parked"
    SAVING_OUTCOMES = "saving_outcomes"
    SETTLING = "settling"
    ASKING = "asking"
    HELD = "held"
    UNSAVED = "unsaved"
    SET_ASIDE = "set_aside"
    CLOSED = "closed"


class Step(StrEnum):
    """What moves a session's actor."""

    LOADED = "loaded"
    DAMAGED = "damaged"
    TAKE = "take"
    CONFIGURE = "configure"
    COMPACT = "compact"
    DRAFT = "draft"
    DISPATCH = "dispatch"
    STOP = "stop"
    WRITE = "write"
    READ = "read"
    ASK = "ask"
    GO_ON = "go_on"
    OUTCOMES = "outcomes"
    SAVED = "saved"
    REFUSED = "refused"
    REPEATED = "repeated"
    SAVE_FAILED = "save_failed"
    FLUSHED = "flushed"
    HOLD = "hold"
    LIFT = "lift"
    CLOSE = "close"


_P, _S = Phase, Step

TABLE: Final[Mapping[Phase, Mapping[Step, Phase]]] = {
    _P.OPENING: {_S.LOADED: _P.IDLE, _S.DAMAGED: _P.SET_ASIDE, _S.CLOSE: _P.CLOSED},
    _P.IDLE: {
        _S.TAKE: _P.DRAFTING,
        _S.CONFIGURE: _P.CONFIGURING,
        _S.COMPACT: _P.COMPACTING,
        _S.ASK: _P.ASKING,
        _S.HOLD: _P.HELD,
        _S.SAVE_FAILED: _P.UNSAVED,
        _S.CLOSE: _P.CLOSED,
    },
    _P.CONFIGURING: {
        _S.SAVED: _P.IDLE,
        _S.REFUSED: _P.IDLE,
        _S.SAVE_FAILED: _P.UNSAVED,
        _S.CLOSE: _P.CLOSED,
    },
    _P.COMPACTING: {
        _S.SAVED: _P.IDLE,
        _S.REFUSED: _P.IDLE,
        _S.DRAFT: _P.DRAFTING,
        _S.GO_ON: _P.MODEL,
        _S.OUTCOMES: _P.SAVING_OUTCOMES,
        _S.STOP: _P.SETTLING,
        _S.SAVE_FAILED: _P.UNSAVED,
        _S.CLOSE: _P.CLOSED,
    },
    _P.DRAFTING: {
        _S.COMPACT: _P.COMPACTING,
        _S.DISPATCH: _P.SAVING_DISPATCH,
        _S.STOP: _P.SETTLING,
        _S.CLOSE: _P.CLOSED,
    },
    _P.SAVING_DISPATCH: {
        _S.SAVED: _P.MODEL,
        _S.REPEATED: _P.IDLE,
        _S.REFUSED: _P.IDLE,
        _S.SAVE_FAILED: _P.UNSAVED,
        _S.CLOSE: _P.CLOSED,
    },
    _P.MODEL: {
        _S.WRITE: _P.SAVING_RESPONSE,
        _S.READ: _P.TOOLS,
        _S.COMPACT: _P.COMPACTING,
        _S.STOP: _P.SETTLING,
        _S.CLOSE: _P.CLOSED,
    },
    _P.SAVING_RESPONSE: {_S.SAVED: _P.TOOLS, _S.SAVE_FAILED: _P.UNSAVED, _S.CLOSE: _P.CLOSED},
    _P.TOOLS: {
        _S.OUTCOMES: _P.SAVING_OUTCOMES,
        _S.ASK: _P.SAVING_QUESTIONS,
        _S.STOP: _P.SETTLING,
        _S.CLOSE: _P.CLOSED,
    },
    _P.SAVING_QUESTIONS: {_S.SAVED: _P.PARKED, _S.SAVE_FAILED: _P.UNSAVED, _S.CLOSE: _P.CLOSED},
    _P.PARKED: {_S.GO_ON: _P.SAVING_RESPONSE, _S.STOP: _P.SETTLING, _S.CLOSE: _P.CLOSED},
    _P.SAVING_OUTCOMES: {_S.SAVED: _P.MODEL, _S.SAVE_FAILED: _P.UNSAVED, _S.CLOSE: _P.CLOSED},
    _P.SETTLING: {
        _S.SAVED: _P.IDLE,
        _S.REPEATED: _P.IDLE,
        _S.REFUSED: _P.IDLE,
        _S.SAVE_FAILED: _P.UNSAVED,
        _S.CLOSE: _P.CLOSED,
    },
    _P.ASKING: {_S.GO_ON: _P.IDLE, _S.CLOSE: _P.CLOSED},
    _P.HELD: {_S.LIFT: _P.IDLE, _S.CLOSE: _P.CLOSED},
    _P.UNSAVED: {_S.FLUSHED: _P.IDLE, _S.SAVE_FAILED: _P.UNSAVED, _S.CLOSE: _P.CLOSED},
    _P.SET_ASIDE: {_S.CLOSE: _P.CLOSED},
    _P.CLOSED: {},
}

TURN_PHASES: Final = frozenset(
    {
        _P.DRAFTING,
        _P.COMPACTING,
        _P.SAVING_DISPATCH,
        _P.MODEL,
        _P.SAVING_RESPONSE,
        _P.TOOLS,
        _P.SAVING_QUESTIONS,
        _P.SAVING_OUTCOMES,
        _P.SETTLING,
    }
)
"""The phases in which a turn runs; an idle session that is compacted has none."""

OPEN_PHASES: Final = TURN_PHASES | {_P.PARKED}
"""Those in which a turn has begun and not ended."""

SAVING_PHASES: Final = frozenset(
    {_P.SAVING_DISPATCH, _P.SAVING_RESPONSE, _P.SAVING_QUESTIONS, _P.SAVING_OUTCOMES}
)
"""Those in which a commit inside a turn is on its way."""

BUSY: Final[Mapping[Phase, str]] = {
    **dict.fromkeys(TURN_PHASES, "a turn is running"),
    _P.COMPACTING: "it is being compacted",
    _P.PARKED: "a turn is parked until its questions are answered",
    _P.OPENING: "it is being read back",
    _P.CONFIGURING: "a setting is being saved",
    _P.ASKING: "what it opens with waits for approval",
    _P.HELD: "it is held",
    _P.UNSAVED: "a save is pending",
    _P.SET_ASIDE: "it is set aside",
    _P.CLOSED: "it is closed",
}
"""What keeps a session from being quiet, in words; an idle one is kept by its queue only (R9)."""


def after(phase: Phase, step: Step) -> Phase:
    """The phase that ``step`` leads to. Raises :class:`IllegalStep` if the table has none."""
    try:
        return TABLE[phase][step]
    except KeyError:
        raise IllegalStep(
            f"A session that is {phase.value} cannot take the step {step.value!r}.",
            phase=phase.value,
            step=step.value,
        ) from None
