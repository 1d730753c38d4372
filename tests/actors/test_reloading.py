"""Laws of a workspace that is read anew while its host is open."""

from pathlib import Path
from typing import Any

import pytest

from greenroom.actors import Workspace
from greenroom.protocol.errors import BrokenWorkspace, InvalidInput, UnknownAgent, UnknownTool
from tests.actors.stage import agent, package, stage, workspace


async def test_new_conversations_have_an_edit_at_once() -> None:
    """R60, R231: and one that runs goes on with the prompt that it has."""
    async with stage("A", "B", "C") as on:
        old = await on.session("old")
        await old.ask("Hi")
        changes = await on.host.reload(workspace(agents=[agent(prompt="You sell.")]))
        assert changes.agents == ("support",)
        assert (changes.skills, changes.persons, changes.preamble) == ((), (), False)
        await old.ask("Again")
        await (await on.session("new")).ask("Hi")
        systems = [request.system for request in on.model.requests]
    assert ["You help customers." in system for system in systems] == [True, True, False]
    assert "You sell." in systems[2]
    assert systems[0] == systems[1]


async def test_what_is_broken_changes_nothing() -> None:
    """R231: refused with every fault, whole."""
    async with stage("A") as on:
        before = on.host.services.workspace
        odd: Any = "folder"
        for wrong, error in (
            (workspace(agents=[agent(tools=("nix",))]), UnknownTool),
            (odd, InvalidInput),
        ):
            with pytest.raises(error):
                await on.host.reload(wrong)
            assert on.host.services.workspace is before
        assert (await (await on.session()).ask("Hi")).end == "done"


async def test_a_folder_is_read_again(tmp_path: Path) -> None:
    """R231, R60: what was written since is there; a fault leaves what was."""
    agents = tmp_path / "agents"
    agents.mkdir()
    (agents / "support.md").write_text("---\nmodel: m\n---\nYou help.")
    async with stage("A", work=Workspace.folder(tmp_path)) as on:
        (agents / "sales.md").write_text("---\nmodel: m\n---\nYou sell.")
        assert (await on.host.reload()).agents == ("sales",)
        assert (await on.host.reload()).is_empty
        (agents / "sales.md").write_text("---\nskills: [nix]\n---\nYou sell.")
        with pytest.raises(BrokenWorkspace, match="nix"):
            await on.host.reload()
        session = await on.host.session("s", agent="sales")
        assert (await session.ask("Hi")).end == "done"


async def test_a_session_outlives_its_agent() -> None:
    """R231: it goes on with its kept prompt; a new one of that agent is refused."""
    skills = [package("plan")]
    async with stage("A", "B", agents=[agent(skills=("plan",))], skills=skills) as on:
        session = await on.session()
        await session.ask("Hi")
        await on.host.reload(workspace(agents=[agent(name="sales")]))
        assert (await session.ask("Again")).end == "done"
        with pytest.raises(UnknownAgent, match="sales"):
            await on.session("new")
        assert "plan" in on.model.requests[1].system.lower()


async def test_a_preset_of_a_live_session_is_the_one_that_stands_now() -> None:
    """R157, R14: enforcement and the live section follow the table; the kept part stays."""
    from msgspec import structs  # noqa: PLC0415

    from greenroom.protocol.permission import PRESETS, PresetTable  # noqa: PLC0415

    table = PresetTable(tuple([structs.replace(p, policy=f"New. {p.policy}") for p in PRESETS]))
    async with stage("A", "B") as on:
        session = await on.session()
        await session.ask("Hi")
        changes = await on.host.reload(workspace(presets=table))
        assert changes.presets == tuple(sorted(PRESETS.ids))
        await session.ask("Again")
        one, two = [request.system for request in on.model.requests]
        kept = one[: one.index("<permissions>")]
        assert two.startswith(kept)
        assert "New. " in two[len(kept) :]
        assert (await session.request(2)).is_exact
