"""Laws of the built-in tools: what is kept wins, and what is called is what is decided about."""

from collections.abc import Mapping
from typing import Any

import attrs
import msgspec
import pytest

from greenroom.actors.builtin import (
    builtin_tools,
    resolve,
    shown_package,
    shown_pinned,
    shown_tools,
)
from greenroom.actors.skill_source import skill_package
from greenroom.actors.tool import Output, Tool, ToolContext, tool
from greenroom.protocol.errors import BadArguments, SkillUnavailable, ToolFailed
from greenroom.protocol.identity import SessionId
from greenroom.protocol.skill import (
    PinnedSkill,
    Reference,
    SkillPackage,
    SkillSummary,
    package_revision,
)

NOW = 1_771_234_567_890
TOOLS = {each.name: each for each in builtin_tools(lambda: NOW)}

TODAY = skill_package("refunds", "When money goes back.", "New body", {"index.md": "new", "b": "B"})
OTHER = skill_package("Tables", "Reads tables.", "Read them.", {"deep/x.md": "é" * 20_000})
NEW = package_revision(TODAY.files)
KEPT = PinnedSkill(
    id="skills/refunds",
    slug="refunds",
    name="refunds",
    location="skills/refunds",
    revision="0ld",
    body="Old body",
    body_digest="",
    reference=Reference("index.md", "old"),
    paths=("a",),
)


@tool(effect="write")
async def pay(cents: int) -> str:
    """Pay somebody."""
    return f"paid {cents}"


@attrs.frozen
class Around:
    """A session's surroundings, as plain data."""

    given: tuple[SkillPackage, ...] = (TODAY, OTHER)
    kept: PinnedSkill | None = None
    tools: Mapping[str, Tool[Any]] = {"pay": pay}

    def skills(self) -> tuple[SkillSummary, ...]:
        return tuple(package.summary for package in self.given)

    def kept_skill(self, skill: str, /) -> PinnedSkill | None:
        return self.kept if skill in {"skills/refunds", "refunds"} else None

    def kept_file(self, skill: PinnedSkill, path: str, /) -> bytes | None:
        return {"index.md": b"old", "a": b"A"}.get(path)

    async def current_skill(self, skill: str, /) -> SkillPackage:
        for package in self.given:
            if package.summary.id == skill and package.body:
                return package
        raise SkillUnavailable(f"The skill {skill} is gone.")

    def object(self, handle: str, /) -> bytes | None:
        return "ünder".encode() if handle == "h1" else None

    def on_demand(self) -> Mapping[str, Tool[Any]]:
        return self.tools


async def call(name: str, around: Around | None, /, **arguments: object) -> Output:
    context = ToolContext(
        session=SessionId("t", "k"),
        person=None,
        turn=1,
        call="c1-0-0",
        deps=None,
        surroundings=around,
    )
    return await TOOLS[name].run(context, msgspec.json.encode(arguments).decode())


async def test_the_time_is_the_hosts() -> None:
    """P190: it comes from the world that the host was given."""
    assert (await call("get_current_time", None)).text == "2026-02-16T09:36:07Z (Monday)"


@pytest.mark.parametrize("name", ["refunds", "skills/refunds"])
async def test_a_kept_skill_is_loaded_as_it_was_kept(name: str) -> None:
    """R202: the kept revision, though the source has another; its files with the read-ahead one."""
    output = await call("load_skill", Around(kept=KEPT), name=name)
    assert output.text == (
        "[skill refunds: kept revision 0ld]\nOld body\n\nFurther files, for read_object:\n"
        "- skills/refunds/a\n- skills/refunds/index.md"
    )
    assert output.text == shown_pinned(KEPT)


@pytest.mark.parametrize("name", ["refunds", "skills/refunds"])
async def test_any_other_skill_is_loaded_as_it_is_now(name: str) -> None:
    """R42, R202: a plain result, which names the revision; an eager load shows the same (R143)."""
    output = await call("load_skill", Around(), name=name)
    assert output.text == (
        f"[skill refunds: current revision {NEW}]\nNew body\n\n"
        "Further files, for read_object:\n- skills/refunds/b\n- skills/refunds/index.md"
    )
    assert output.text == shown_package(TODAY)


async def test_a_skill_goes_by_name_too_unless_two_have_it() -> None:
    """R20: id before slug before name; several of one name are named by their ids."""
    assert "Read them." in (await call("load_skill", Around(), name="Tables")).text
    twin = msgspec.structs.replace(
        OTHER, summary=msgspec.structs.replace(OTHER.summary, id="skills/more/tables")
    )
    with pytest.raises(ToolFailed, match="skills/more/tables"):
        await call("load_skill", Around(given=(OTHER, twin)), name="Tables")


async def test_only_given_skills_are_loaded() -> None:
    """R20: another one is unknown, and so is one that is gone."""
    with pytest.raises(ToolFailed, match="there are: refunds, Tables"):
        await call("load_skill", Around(), name="../refunds")
    gone = msgspec.structs.replace(OTHER, body="")
    with pytest.raises(ToolFailed, match="gone"):
        await call("load_skill", Around(given=(gone,)), name="Tables")


@pytest.mark.parametrize(
    ("kept", "path", "text"),
    [
        (None, "h1", "[h1: whole]\nünder"),
        (KEPT, "refunds/index.md", "[refunds/index.md, kept revision 0ld: whole]\nold"),
        (KEPT, "skills/refunds/a", "[skills/refunds/a, kept revision 0ld: whole]\nA"),
        (
            None,
            "skills/refunds/index.md",
            f"[skills/refunds/index.md, current revision {NEW}: whole]\nnew",
        ),
    ],
)
async def test_an_object_is_read_where_it_is_kept(
    kept: PinnedSkill | None, path: str, text: str
) -> None:
    """R40, R193, R202: results by handle, skill files of the kept revision or else the current."""
    assert (await call("read_object", Around(kept=kept), path=path)).text == text


async def test_a_range_ends_where_a_character_does() -> None:
    """R193: a long file is read in parts of whole characters."""
    output = await call("read_object", Around(), path="tables/deep/x.md", start=1, length=4)
    first, _, text = output.text.partition("\n")
    assert first.endswith("bytes 0 to 4 of 40000; go on with start=4]")
    assert text == "éé"


@pytest.mark.parametrize(
    ("kept", "path"),
    [
        (None, "nothing"),
        (None, "skills/refunds"),
        (None, "refunds/../tables/deep/x.md"),
        (None, "refunds/gone.md"),
        (KEPT, "refunds/b"),
        (None, "/" * 4_000),
    ],
)
async def test_what_is_not_there_is_a_sentence(kept: PinnedSkill | None, path: str) -> None:
    """S8: a path is a key among the package's files, and a kept skill shows no newer file."""
    with pytest.raises(ToolFailed):
        await call("read_object", Around(kept=kept), path=path)


async def test_tools_on_demand_come_as_a_result() -> None:
    """R195: their declarations are text; no declared byte changes."""
    output = await call("load_tools", Around(), names=["pay", "pay"])
    assert output.text == shown_tools([pay])
    assert '"name":"pay"' in output.text
    with pytest.raises(ToolFailed, match="there are: pay"):
        await call("load_tools", Around(), names=["pay", "gone"])
    with pytest.raises(ToolFailed, match="only inside a session"):
        await call("load_tools", None, names=["pay"])


@pytest.mark.parametrize(
    ("written", "inner"),
    [
        ('{"name":"pay","arguments":{ "cents" : 5 }}', '{ "cents" : 5 }'),
        ('{"name":"pay","arguments":"{\\"cents\\":5}"}', '{"cents":5}'),
        ('{"name":"pay"}', "{}"),
        ('{"name":"pay","arguments":null}', "{}"),
    ],
)
def test_a_call_through_use_tool_is_that_of_the_inner_tool(written: str, inner: str) -> None:
    """R216: the door decides about the tool that is named, and the very bytes of its arguments."""
    assert resolve(TOOLS["use_tool"], written, {"pay": pay}) == (pay, inner)


def test_any_other_call_is_itself() -> None:
    """R216: only use_tool stands for another."""
    assert resolve(pay, "anything", {}) == (pay, "anything")


@pytest.mark.parametrize(
    "written",
    [
        "",
        "[]",
        '{"name":"use_tool"}',
        '{"name":"gone"}',
        '{"arguments":{}}',
        '{"name":"pay","x":1}',
    ],
)
def test_use_tool_reaches_only_what_is_on_demand(written: str) -> None:
    """R216: never itself, never a tool that the agent was not given."""
    with pytest.raises(BadArguments):
        resolve(TOOLS["use_tool"], written, {"pay": pay})


async def test_use_tool_itself_does_nothing() -> None:
    """R216: unresolved, it fails and runs nothing."""
    with pytest.raises(ToolFailed):
        await call("use_tool", Around(), name="pay", arguments={"cents": 5})


def test_built_in_tools_only_read() -> None:
    """R172: none of them needs an intent."""
    assert {each.effect for each in TOOLS.values()} == {"read"}
