"""What is handed in wrongly is refused by a sentence of greenroom's own, and nothing is stored."""

import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
from msgspec import structs

from greenroom.actors import Host, Session, open_host
from greenroom.actors.models.port import Capabilities
from greenroom.actors.models.scripted import Looping, Scripted
from greenroom.protocol.errors import GreenroomError, InvalidInput, Rewound, SameName, TooLarge
from greenroom.protocol.limits import Limits, check_limits
from greenroom.protocol.message import Image, TextPart
from greenroom.protocol.receipt import Cursor
from tests.actors.stage import package, stage, workspace

ANY: Any = object()
"""Of no type that anything takes."""
WRONG_WHEN: list[Any] = [None, 5, "now", []]
WRONG_NAMES: list[Any] = [5, ["support"], ""]
FIELDS = [field.name for field in structs.fields(Limits)]


@attrs.frozen
class Call:
    """A call of the public API with something wrong in it."""

    of: Callable[[Host, Session], Awaitable[Any]]
    kind: type[GreenroomError] = InvalidInput


def sent(content: Any = "hello", **told: Any) -> Call:
    return Call(lambda _, session: session.prompt(content, **told))


def opened(key: Any = "ben", **told: Any) -> Call:
    return Call(lambda host, _: host.session(key, **{"agent": "support", **told}))


def after(made: Callable[[Cursor], Any], kind: type[GreenroomError]) -> list[Call]:
    async def cursor_of(session: Session) -> Any:
        return made((await session.state()).cursor)

    async def events(_: Host, session: Session) -> None:
        session.events(after=await cursor_of(session))

    async def feed(host: Host, session: Session) -> None:
        host.feed(after=await cursor_of(session))

    return [Call(events, kind), Call(feed, kind)]


BAD = [
    *(sent(content) for content in (5, None, b"words", {"a": 1}, [5], [TextPart(ANY)], [["a"]])),
    *(sent([image]) for image in (Image(ANY, b"x"), Image("image/png", ANY), Image("text", b"x"))),
    *(sent([TextPart("a"), TextPart(blank)]) for blank in ("", " \n")),
    *(sent(skills=skills) for skills in (5, "plan", iter(["plan"]), [5], [""], {"plan": 1}, None)),
    *(sent(key=key) for key in (5, b"k", "", "\ud800", "a\0")),
    *(sent(when=when) for when in WRONG_WHEN),
    *(opened(labels=labels) for labels in (5, "ab", ["a"], {"a": 5}, {5: "a"}, {"a": ""})),
    *(opened(person=name) for name in (5, b"p", "", "\ud800")),
    *(opened(agent=name) for name in WRONG_NAMES),
    *(opened(preset=name) for name in WRONG_NAMES),
    *(opened(key) for key in (5, None, b"k", "")),
    Call(lambda _, s: s.set_permission_preset(ANY)),
    Call(lambda _, s: s.set_permission_preset("workspace-write", by=ANY)),
    Call(lambda _, s: s.set_permission_preset("workspace-write", by="\ud800")),
    Call(lambda _, s: s.set_model(ANY)),
    Call(lambda _, s: s.set_model("m", by=ANY)),
    Call(lambda _, s: s.validate_skill_selection(ANY)),
    Call(lambda _, s: s.validate_skill_selection("plan")),
    Call(lambda _, s: s.outcome(ANY)),
    Call(lambda _, s: s.recall(ANY)),
    Call(lambda _, s: s.retry(ANY)),
    Call(lambda _, s: s.request(1, round=ANY)),
    Call(lambda _, s: s.request(ANY)),
    Call(lambda h, _: h.sessions(labels=ANY).all()),
    *after(lambda _: 5, InvalidInput),
    *after(lambda cursor: structs.replace(cursor, number=-1), Rewound),
    *after(lambda cursor: structs.replace(cursor, number=2**70), Rewound),
    *after(lambda cursor: structs.replace(cursor, number="1"), InvalidInput),
    *after(lambda cursor: structs.replace(cursor, incarnation=5), Rewound),
]


async def test_what_is_handed_in_wrongly_is_refused_and_nothing_is_stored() -> None:
    """R194: at every entry by a typed error, never by one of Python's, and nothing is written."""
    async with stage(model=Looping(("Hi.",)), skills=[package("plan")]) as on:
        session = await on.session()
        await session.ask("one")
        before = on.store.last_number()
        for bad in BAD:
            with pytest.raises(bad.kind):
                await bad.of(on.host, session)
        assert on.store.last_number() == before
        assert (await session.ask("two")).end == "done"


@pytest.mark.parametrize(
    "text", [None, 5, b"x.1.0", "", "x.1", "x.-1.0", "x.1.99999999999999999999"]
)
def test_what_is_no_cursor_is_not_read_as_one(text: Any) -> None:
    """R222: whatever a client kept instead of a cursor is refused as one that leads nowhere."""
    with pytest.raises(Rewound):
        Cursor.parse(text)


async def test_the_bound_of_a_message_holds_for_its_blocks_together() -> None:
    """R194: many short blocks are no way around the bound of a message."""
    async with stage(model=Looping(("Hi.",)), limits=Limits(message_bytes_max=10)) as on:
        session = await on.session()
        await session.ask([TextPart("12345"), TextPart("67890")])
        with pytest.raises(TooLarge):
            await session.prompt([TextPart("123456"), TextPart("67890")])


# --- opening --------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("value", [-1, None, "7", True, float("nan")])
def test_a_limit_that_is_no_bound_is_named(field: str, value: Any) -> None:
    """R194: a host that could not work does not open, and says which field is why."""
    with pytest.raises(InvalidInput, match=f"Limits.{field} cannot be {value}"):
        check_limits(structs.replace(Limits(), **{field: value}))


@pytest.mark.parametrize(
    ("field", "value"), [("rounds_max", 0), ("safety_share", 1.0), ("calls_max", 2**60)]
)
def test_a_limit_that_forbids_everything_is_named(field: str, value: Any) -> None:
    """R194: zero rounds, no room for a request, or a number that no store keeps."""
    with pytest.raises(InvalidInput, match=field):
        check_limits(structs.replace(Limits(), **{field: value}))
    check_limits(Limits(idle_seconds=float("inf"), picks_max=0, safety_share=0, tool_seconds_max=1))


class Nameless:
    """Nearly a model."""

    capabilities = Capabilities()

    async def respond(self, *_: object) -> None: ...


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("limits", Limits(settle_seconds_max=-1)),
        ("limits", 5),
        ("models", {}),
        ("models", 5),
        ("models", {"m": 5}),
        ("models", {"m": Nameless()}),
        ("models", {5: Scripted([])}),
        ("workspace", "agents"),
        ("store", 5),
        ("store", ""),
        ("store", "a\0b"),
    ],
)
def test_a_host_is_not_opened_over_what_cannot_serve(
    field: str, value: Any, tmp_path: Path
) -> None:
    """R194: before anything is made on disk."""
    given = {"store": tmp_path / "s", "workspace": workspace(), "models": {"m": Scripted([])}}
    options: dict[str, Any] = {**given, field: value}
    with pytest.raises(InvalidInput):
        open_host(options.pop("store"), **options)
    assert not list(tmp_path.iterdir())


async def test_two_models_of_one_name_are_alike() -> None:
    """R100: a kept prompt is measured by the window of the model of its name, so that is one."""
    narrow = Scripted([], capabilities=Capabilities(context_tokens=8_000))
    with pytest.raises(SameName):
        async with stage(models={"m": Scripted([]), "n": narrow}):
            pass
    async with stage(models={"m": Scripted([]), "n": Scripted([])}):
        pass


TYPED = '''
from greenroom.actors import ToolContext, Workspace, open_host, tool
from greenroom.actors.models.scripted import Looping

@tool(effect="read")
async def shop(context: ToolContext[int]) -> str:
    """Look."""
    return str(context.deps)

@tool(effect="read")
async def plain(what: str) -> str:
    """Look."""
    return what

work, models = Workspace.build(agents=[]), {"m": Looping(("Hi.",))}
async def deps(info: object) -> int:
    return 1

open_host("s", workspace=work, models=models, tools=[plain])
open_host("s", workspace=work, models=models, tools=[shop, plain], deps=deps)
open_host("s", workspace=work, models=models, tools=[shop], deps=lambda info: 1)
'''
WRONG = """
open_host("s", workspace=work, models=models, tools=[plain, shop])
open_host("s", workspace=work, models=models, tools=[shop], deps=lambda info: "1")
"""


def test_a_tool_whose_dependencies_are_not_given_is_a_static_error(tmp_path: Path) -> None:
    """R220: a type checker tells before anything runs; what fits is no error."""
    checked = tmp_path / "typed.py"
    checked.write_text(TYPED + WRONG)
    pyproject = Path(__file__).parents[2] / "pyproject.toml"
    cache = tmp_path / "cache"
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", pyproject, "--cache-dir", cache, checked],
        capture_output=True,
        text=True,
        check=False,
        env={"MYPYPATH": str(pyproject.parent / ".import")},
    )
    wrong = [number for number in range(1, 50) if f"typed.py:{number}: error" in done.stdout]
    last = TYPED.count("\n")
    assert wrong == [last + 2, last + 3], done.stdout + done.stderr
