"""Laws of ``greenroom explain``, over the store of a demo and over one made for it."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from greenroom.actors import open_host
from greenroom.actors.cli import explaining
from greenroom.actors.cli.explaining import whose
from greenroom.actors.cli.options import Stored
from greenroom.actors.cli.words import console
from greenroom.actors.models.scripted import Scripted
from greenroom.actors.world import simulated
from greenroom.protocol.errors import Missing
from greenroom.protocol.pieces import Piece
from greenroom.protocol.rebuild import SentRequest, request_at
from tests.actors.cli.commands import TABLE_WIDTH, ran
from tests.actors.cli.conftest import Kept
from tests.actors.stage import SUPPORT, workspace

KEY = "demo-0-0003"


async def told(capsys: pytest.CaptureFixture[str], store: Path, one: str, other: str) -> str:
    """What the command prints of two requests."""
    assert await explaining.explained(console(), Stored(store=store), one, other) == 0
    return capsys.readouterr().out


def test_two_requests_are_told_apart_at_the_command_line(kept: Kept) -> None:
    """R197: the byte, the part with its owner, the reason; no line is wider than a terminal."""
    done = ran(kept.folder, "explain", f"{KEY}:1:0", f"{KEY}:2:0", "--store", kept.store)
    assert (done.returncode, done.stderr) == (0, "")
    for word in ("why     Nothing moved: the second goes on where the first ends", "part", "moved"):
        assert word in done.stdout
    places = [line for line in done.stdout.splitlines() if line.startswith(("both", "first   …"))]
    assert len(places) == 2
    assert max(map(len, places)) <= TABLE_WIDTH


def test_the_same_for_programs(kept: Kept) -> None:
    """R197: the whole comparison, as one JSON object."""
    done = ran(kept.folder, "explain", f"{KEY}:1", f"{KEY}:2", "--store", kept.store, "--json")
    found = json.loads(done.stdout)
    assert found["why"] == "longer"
    requests = [
        ran(kept.folder, "request", KEY, turn, "--store", kept.store).stdout.encode()
        for turn in (1, 2)
    ]
    assert found["sizes"] == [len(data) for data in requests]
    assert requests[0][: found["common"]] == requests[1][: found["common"]]
    assert requests[0][found["common"]] != requests[1][found["common"]]


async def test_which_request_is_meant(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """R197: the last one unless it is named; a key with colons is taken whole if there is one."""
    store = tmp_path / "store"
    models = {"m": Scripted(["A", "B", "C"])}
    work = workspace(agents=[SUPPORT])
    async with open_host(str(store), workspace=work, models=models, world=simulated(0)) as host:
        plain = await host.session("a", agent="support")
        await plain.ask("One")
        await plain.ask("Two")
        await (await host.session("a:1", agent="support")).ask("One")
        await host.session("none", agent="support")
    heads = {
        "a": "a · turn 2 · round 0",
        "a:2": "a · turn 2 · round 0",
        "a:2:0": "a · turn 2 · round 0",
        "a:1": "a:1 · turn 1 · round 0",
        "a:1:1": "a:1 · turn 1 · round 0",
        "a:1:1:0": "a:1 · turn 1 · round 0",
    }
    for place, head in heads.items():
        shown = await told(capsys, store, place, "a")
        assert shown.splitlines()[0].startswith(f"first   {head} ")
    assert "The two requests are the same bytes." in await told(capsys, store, "a", "a:2")
    for place, said in (
        ("b:7", "There is no session b; there is a"),
        ("none", "The session none sent no request yet."),
        ("a:9", "There is no turn 9"),
        ("a:2:9", "has no request of round 9"),
    ):
        with pytest.raises(Missing, match=said):
            await told(capsys, store, place, "a")


@pytest.mark.parametrize("place", [f"{KEY}:x", f"{KEY}:1:x"])
def test_a_place_that_is_none_is_wrong_usage(kept: Kept, place: str) -> None:
    """R232: told with its form, exit code 2."""
    done = ran(kept.folder, "explain", place, KEY, "--store", kept.store)
    assert (done.returncode, done.stdout) == (2, "")
    assert "SESSION:TURN:ROUND" in done.stderr


async def test_what_is_not_rebuilt_as_it_was_sent_is_told(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """R196: a comparison of other bytes than those that were sent says so, exit code 1."""

    def other(*arguments: object) -> SentRequest:
        return replace(request_at(*arguments), rebuilt="0" * 64)  # type: ignore[arg-type]

    monkeypatch.setattr(explaining, "request_at", other)
    assert await explaining.explained(console(), Stored(store=kept.store), KEY, KEY) == 1
    assert f"{KEY} is NOT rebuilt as the model was given it." in capsys.readouterr().err


def test_a_piece_is_told_in_words() -> None:
    """R197: what it is and whose, on one line, whatever names hold."""
    assert whose(Piece("section", "permissions", 0, 1)) == "section permissions · live"
    section = Piece("section", "text:money", 0, 1, "agent", "workspace", "money@" + "1" * 64)
    assert whose(section) == (
        "section text:money · money@111111111111 · of the workspace · placement agent"
    )
    assert whose(Piece("tool", "look", 0, 1)) == "declaration of look"
    words = Piece("message", "user", 0, 1, origin="history", message=4, turn=3)
    assert whose(words) == "user message 4 · turn 3"
    note = Piece("message", "user", 0, 1, contributor="pause@1\n", origin="note", turn=3)
    assert whose(note) == "note message · turn 3 · pause@1\N{REPLACEMENT CHARACTER}"
    legacy = Piece("message", "user", 0, 1, origin="legacy_context")
    assert whose(legacy) == "legacy context message · imported"
    assert whose(Piece("end", "messages", 0, 1)) == "end of the messages"
    assert whose(Piece("model", "m1", 0, 1)) == "m1"
