"""Laws of a report that is shown from Python."""

import sys

import pytest

from greenroom.actors.bench import contender, run, show
from greenroom.protocol.errors import ExtraMissing
from tests.actors.bench import varying
from tests.actors.bench.scenes import prompt, workspace


def test_a_report_is_shown_as_the_command_shows_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """R244: own composers have the same tables; without the extra its name is told."""
    made = contender("mine", varying.pure)
    report = run([prompt(0, "a")], workspace=workspace(), composers=[made])
    show(report)
    shown = capsys.readouterr().out
    assert "The same by placement, for mine" in shown
    monkeypatch.setitem(sys.modules, "greenroom.actors.bench.showing", None)
    with pytest.raises(ExtraMissing, match=r"greenroom\[cli\]"):
        show(report)
