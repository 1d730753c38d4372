"""What the built-in tools see of a session: its own skills, files and results, as they were."""

from pathlib import Path

import msgspec
import pytest

from greenroom.actors import Workspace
from greenroom.actors.models.scripted import call
from greenroom.protocol.limits import Limits
from greenroom.store import open_memory
from tests.actors.looking import LONG, look
from tests.actors.stage import agent, messages, package, stage

OLD = package("plan", "Old body, see notes.md.", {"notes.md": b"old notes", "more.md": b"old more"})
NEW = package("plan", "New body, see notes.md.", {"notes.md": b"new notes", "more.md": b"new more"})
READ = (
    call("load_skill", name="plan"),
    call("read_object", path="skills/plan/more.md"),
    "Done.",
)


async def results(picked: bool, bound: bool) -> list[str]:
    """What the tools return once the skill was edited behind the conversation's back."""
    agents = [agent(skills=("skills/plan",) if bound else ())]
    async with open_memory() as store:
        async with stage("Hi.", skills=[OLD], agents=agents, store=store) as on:
            session = await on.session()
            await session.ask("one", skills=["plan"] if picked else [])
        async with stage(*READ, skills=[NEW], agents=agents, store=store) as on:
            session = await on.session()
            assert (await session.ask("read")).end == "done"
            sent = messages(on.model.requests[-1])
    return [message["content"] for message in sent if message["role"] == "tool"]


@pytest.mark.parametrize(("picked", "bound"), [(True, False), (False, True), (True, True)])
async def test_a_kept_or_pinned_skill_is_read_at_its_revision(picked: bool, bound: bool) -> None:
    """R202: the body and each file of exactly that revision, and the result names it."""
    body, file = await results(picked, bound)
    assert "Old body" in body
    assert "kept revision" in body
    assert "old more" in file
    assert "kept revision" in file


async def test_any_other_skill_is_read_as_it_is_now() -> None:
    """R202: its current revision, which the result names."""
    body, file = await results(picked=False, bound=False)
    assert "New body" in body
    assert "current revision" in body
    assert "new more" in file
    assert "current revision" in file


@pytest.mark.parametrize("bound", [False, True])
async def test_what_is_listed_of_a_skill_can_be_read(tmp_path: Path, bound: bool) -> None:
    """R40: a file is listed as it is called, in the note and by load_skill, whatever its name."""
    skill = tmp_path / "skills" / "two  blanks"
    for name, text in (("SKILL.md", "---\ndescription: D.\n---\n"), ("a  b\tc.md", "inside")):
        skill.mkdir(parents=True, exist_ok=True)
        (skill / name).write_text(text)
    (tmp_path / "agents").mkdir()
    head = "skills: ['two  blanks']" if bound else "description: Helps."
    (tmp_path / "agents" / "support.md").write_text(f"---\nmodel: m\n{head}\n---\nHelp.")
    work = Workspace.folder(tmp_path)
    path = "skills/two  blanks/a  b\tc.md"
    script = (
        call("load_skill", name="skills/two  blanks"),
        call("read_object", path=path),
        "Done.",
    )
    async with stage("Hi.", *script, work=work) as on:
        session = await on.session()
        await session.ask("one", skills=["skills/two  blanks"])
        await session.ask("two")
        sent = [message.get("content", "") for message in messages(on.model.requests[-1])]
        system = on.model.requests[0].system
    assert f"- {path}" in sent[0]
    assert "inside" in sent[-1]
    assert bound or "`skills/two  blanks`" in system


async def test_a_loaded_skill_is_no_snapshot() -> None:
    """R42: call and result are ordinary entries, of origin history."""
    async with stage(call("load_skill", name="plan"), "Done.", skills=[OLD]) as on:
        session = await on.session()
        await session.ask("one")
        assert await session.get_runtime_contexts() == ()
        shown = await session.model_input_projection()
        assert shown is not None
        assert {(source.origin, source.expansion) for source in shown.sources} == {
            ("history", None)
        }


async def test_a_long_result_is_kept_once_and_read_in_ranges() -> None:
    """R193: by content hash; the head and the handle are part of what was sent."""
    limits = Limits(result_bytes_max=100, result_head_bytes=10)
    script = (call("look"), "Done.", call("look"), "Done.")
    async with open_memory() as store:
        async with stage(*script, tools=[look], limits=limits, store=store) as on:
            session = await on.session()
            await session.ask("one")
            await session.ask("two")
            heads = [m["content"] for m in messages(on.model.requests[-1]) if m["role"] == "tool"]
        assert heads[0] == heads[1]
        handle = heads[0].partition('read_object("')[2][:64]
        assert store.blob(handle) == LONG.encode()
        read = call("read_object", path=handle, start=150, length=20)
        async with stage(read, "Done.", tools=[look], store=store) as on:
            session = await on.session()
            await session.ask("three")
            result = messages(on.model.requests[-1])[-1]["content"]
        assert "x" * 20 in result
        assert "x" * 21 not in result


async def test_a_skill_that_the_session_was_not_given_is_not_read() -> None:
    """R20: neither by load_skill nor as a file."""
    agents = [agent(available=())]
    async with stage(*READ, skills=[OLD], agents=agents) as on:
        session = await on.session()
        await session.ask("read")
        sent = [m["content"] for m in messages(on.model.requests[-1]) if m["role"] == "tool"]
    assert "no skill" in sent[0]
    assert "Old" not in msgspec.json.encode(sent).decode()
