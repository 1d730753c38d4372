"""Laws of the table of phases: what it does not have is one typed error and changes nothing."""

from itertools import product

import pytest

from greenroom.protocol.errors import IllegalStep
from greenroom.protocol.phase import BUSY, TABLE, TURN_PHASES, Phase, Step, after


def test_every_phase_is_a_key_and_every_step_leads_somewhere() -> None:
    assert set(TABLE) == set(Phase)
    assert {step for steps in TABLE.values() for step in steps} == set(Step)
    assert set(BUSY) == set(Phase) - {Phase.IDLE}


@pytest.mark.parametrize(("phase", "step"), list(product(Phase, Step)))
def test_a_step_is_in_the_table_or_refused(phase: Phase, step: Step) -> None:
    expected = TABLE[phase].get(step)
    if expected is None:
        with pytest.raises(IllegalStep):
            after(phase, step)
    else:
        assert after(phase, step) is expected


def test_a_held_session_goes_nowhere_but_back_or_away() -> None:
    """R159: no turn begins there, and no setting."""
    assert TABLE[Phase.HELD] == {Step.LIFT: Phase.IDLE, Step.CLOSE: Phase.CLOSED}
    assert [phase for phase in Phase if Step.HOLD in TABLE[phase]] == [Phase.IDLE]
    assert Phase.HELD not in TURN_PHASES
