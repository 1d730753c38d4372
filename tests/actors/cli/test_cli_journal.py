"""Laws of ``greenroom journal``: each kind of entry in a sentence, on one line."""

from pathlib import Path

import pytest

from greenroom.actors.cli.journal import journal
from greenroom.actors.cli.options import Stored
from greenroom.actors.cli.words import console
from greenroom.store import Enter, open_lmdb
from tests.actors.cli.commands import ESCAPE
from tests.protocol.test_journal import FRAMES
from tests.store.offering import ask_all

TOLD = (
    (
        "ann held sessions showing the skill skills/refunds of the agent support of the tenant shop"
        " labelled team=a (h1): It pays twice."
    ),
    "ben lifted h1 and withdrew its skill: Mended.",
    "ben lifted h1: Mended.",
    (
        "ann marked sessions with the contributor money@1 under the preset full to be composed"
        " anew: It is wrong."
    ),
    "ann put shop/a under the preset full, which was under read-only",
    "somebody chose the model m for shop/a",
    "ben answered deny in shop/a (q1): Too much.",
    "ann lifted h\ufffd[2J: Two lines.",
)


async def test_each_kind_of_entry_is_told_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """R242: who, what, to which sessions, and why; whatever somebody wrote, on one line."""
    wrote = b'{"is":"hold_lifted","at":9,"by":"ann","reason":"Two\\nlines.","hold":"h\\u001b[2J"}'
    async with open_lmdb(tmp_path / "store") as store:
        await ask_all(store, [Enter(frame) for frame in [*(f for _, f in FRAMES), wrote]])
    options = Stored(store=tmp_path / "store")
    assert await journal(console(), options, after=0, limit=100) == 0
    *told, count = capsys.readouterr().out.splitlines()
    assert [line.partition(" UTC ")[2] for line in told] == list(TOLD)
    assert [line.partition("  ")[0] for line in told] == [str(n + 1) for n in range(len(TOLD))]
    assert count == f"{len(TOLD)} entries"
    assert ESCAPE not in "".join(told)
