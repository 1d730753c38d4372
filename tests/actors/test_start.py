"""Whether a call began: decided once, by whoever comes first."""

from greenroom.actors.start import Start


def test_a_call_that_began_is_not_given_up() -> None:
    """R175: it may have happened."""
    start = Start()
    assert start.take()
    assert not start.give_up()
    assert not start.give_up()


def test_a_call_that_was_given_up_never_begins() -> None:
    """R175: what is told as not run does not run afterwards."""
    start = Start()
    assert start.give_up()
    assert not start.take()
    assert start.give_up()
