"""Laws of ``greenroom spend``: what each version cost, and turns with it beside those without."""

import json
from pathlib import Path

import pytest

from greenroom.actors import open_host
from greenroom.actors.cli.options import Stored
from greenroom.actors.cli.spent import spend
from greenroom.actors.cli.words import console
from greenroom.actors.models.scripted import Scripted
from greenroom.actors.world import simulated
from greenroom.protocol.errors import InvalidInput
from tests.actors.cli.commands import TABLE_WIDTH, ran
from tests.actors.cli.conftest import Kept
from tests.actors.stage import SUPPORT, workspace
from tests.protocol.prompt_samples import text


def test_every_version_is_told_in_80_columns(kept: Kept) -> None:
    """R78: sessions, turns, requests and tokens, the one that spent most first."""
    done = ran(kept.folder, "spend", "--store", kept.store)
    assert (done.returncode, done.stderr) == (0, "")
    table = done.stdout.splitlines()[:-1]
    assert max(len(line.rstrip()) for line in table) <= TABLE_WIDTH
    lines = ran(kept.folder, "spend", "--store", kept.store, "--json").stdout.splitlines()
    found = [json.loads(line) for line in lines]
    assert [each["tokens"] for each in found] == sorted(
        [each["tokens"] for each in found], reverse=True
    )
    assert len(table) == len(found) + 2
    assert " of 5 sessions; tokens are estimated by bytes" in done.stdout


async def test_turns_with_it_stand_beside_those_without_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """R78: of each version of an id, or of one; and what nobody had is told as that."""
    store = tmp_path / "store"
    models = {"m": Scripted(["A", "B", "C"])}
    first = workspace(agents=[SUPPORT], contributors=[text("money")])
    async with open_host(str(store), workspace=first, models=models, world=simulated(0)) as host:
        await (await host.session("a", agent="support")).ask("One")
        await (await host.session("b", agent="support")).ask("One")
        await host.reload(workspace(agents=[SUPPORT], contributors=[text("money", version="2")]))
        await (await host.session("c", agent="support")).ask("One")

    async def told(contributor: str, agent: str | None = None) -> str:
        options = Stored(store=store)
        assert await spend(console(), options, contributor=contributor, agent=agent) == 0
        return capsys.readouterr().out

    shown = await told("money")
    assert shown.index("money@1 · workspace · agent") < shown.index("money@2 · workspace · agent")
    [ones, twos] = [line.split() for line in shown.splitlines() if line.startswith("turns   ")]
    assert (ones, twos) == (["turns", "2", "1"], ["turns", "1", "2"])
    assert [line.split()[-2:] for line in shown.splitlines() if "ended done" in line] == [
        ["100.0%", "100.0%"]
    ] * 2
    assert "money@1" not in await told("money@2")
    alone = (await told("preamble")).splitlines()
    assert [line.split()[-1] for line in alone if "ended done" in line] == ["–"]  # of no turn
    assert "No turn was shaped by nobody." in await told("nobody")
    assert "No turn was shaped by money." in await told("money", agent="another")


async def test_a_tenant_that_is_no_name_is_refused(kept: Kept) -> None:
    """R194: before the store is asked."""
    with pytest.raises(InvalidInput):
        await spend(console(), Stored(store=kept.store, tenant="\0"))
