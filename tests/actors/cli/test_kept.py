"""Laws of ``greenroom kept-prompt``: what a session's prompt was composed of, whole and in sum."""

import json
from pathlib import Path

import pytest

from greenroom.actors import open_host
from greenroom.actors.cli.kept import kept_prompt
from greenroom.actors.cli.options import Stored
from greenroom.actors.cli.words import console
from greenroom.actors.models.scripted import Scripted
from greenroom.actors.world import simulated
from greenroom.protocol.errors import Missing
from tests.actors.cli.commands import ESCAPE, TABLE_WIDTH, ran
from tests.actors.cli.conftest import Kept
from tests.actors.stage import SUPPORT, workspace
from tests.protocol.prompt_samples import note, run, text

KEY = "demo-0-0003"


def test_each_part_is_told_with_its_owner_and_size(kept: Kept) -> None:
    """R77: placement, owner, version, bytes and tokens, in 80 columns; the sum is that of all."""
    done = ran(kept.folder, "kept-prompt", KEY, "--store", kept.store)
    assert (done.returncode, done.stderr) == (0, "")
    assert max(len(line.rstrip()) for line in done.stdout.splitlines()) <= TABLE_WIDTH
    for name in ("preamble@", "agent@", "sources@1", "skills/", "tools", "all of it"):
        assert name in done.stdout
    assert "version-changed@1" in done.stdout
    shown = json.loads(ran(kept.folder, "kept-prompt", KEY, "--store", kept.store, "--json").stdout)
    total = sum(part["bytes"] for part in shown["parts"])
    assert f"{total:,}" in done.stdout
    assert shown["texts"] == {}


def test_the_texts_are_those_that_were_sent(kept: Kept) -> None:
    """R56, R77: each stands in the system string of the session's request, in this order."""
    done = ran(kept.folder, "kept-prompt", KEY, "--store", kept.store, "--json", "--full")
    shown = json.loads(done.stdout)
    sent = json.loads(ran(kept.folder, "request", KEY, 1, "--store", kept.store).stdout)
    names = [part["part"] for part in shown["parts"]]
    assert names[0] == "preamble"
    assert names[-1] == "tools"
    places = [sent["system"].index(shown["texts"][name]) for name in names[:-1]]
    assert places == sorted(places)
    assert json.loads(shown["texts"]["tools"]) == sent["tools"]
    full = ran(kept.folder, "kept-prompt", KEY, "--store", kept.store, "--full").stdout
    assert "  Three rules stand above everything else." in full
    assert ESCAPE not in full


async def test_what_was_left_out_and_what_comes_later_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """R103: with the figures; loads, runs and notes are no part yet and are named apart."""
    store = tmp_path / "store"
    work = workspace(
        agents=[SUPPORT],
        contributors=[
            text("hello", "You are with {person}.", placement="person", budget=8),
            run("clock", tool="no_such_tool"),
            note("pause"),
        ],
    )
    async with open_host(
        str(store), workspace=work, models={"m": Scripted(["A"])}, world=simulated(0)
    ) as host:
        session = await host.session("a", agent="support", person="Wilhelmina of the long name")
        await session.ask("One")
        await host.session("b", agent="support")
    await kept_prompt(console(), Stored(store=store), "a")
    shown = capsys.readouterr().out
    assert "left out: hello@1 · It needs " in shown
    assert "its budget is 8." in shown
    assert "left out: clock@1" in shown
    assert "a note, when it is due: pause@1 · workspace" in shown
    with pytest.raises(Missing, match="The session b was not composed yet"):
        await kept_prompt(console(), Stored(store=store), "b")
