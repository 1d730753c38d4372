"""Laws of ``greenroom sessions``, ``show`` and ``request``, over the store of a demo."""

import io
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import trio
from msgspec.structs import replace
from rich.console import Console

from greenroom.actors.cli import looking
from greenroom.actors.cli.options import Stored
from greenroom.actors.cli.words import console
from greenroom.protocol.account import turns_of
from greenroom.protocol.errors import Missing
from greenroom.protocol.identity import SessionId
from greenroom.protocol.rebuild import SentRequest, request_at
from greenroom.protocol.state import SessionSummary
from greenroom.protocol.usage import Usage
from greenroom.store import open_lmdb
from tests.actors.cli.commands import ESCAPE, TABLE_WIDTH, command, environment, ran
from tests.actors.cli.conftest import Kept
from tests.actors.stage import stage

KEY = "demo-0-0003"
SUMMARY = SessionSummary(
    SessionId("default", "short"), "support", None, "careful", None, "idle", 0, 1, 2, 0, Usage()
)


def test_sessions_are_listed_in_80_columns(kept: Kept) -> None:
    """R219: a listing is read from headers; no host and no model is needed."""
    done = ran(kept.folder, "sessions", "--store", kept.store)
    assert (done.returncode, done.stderr) == (0, "")
    assert all(f"demo-0-000{number}" in done.stdout for number in range(5))
    assert "5 sessions" in done.stdout
    assert max(len(line.rstrip()) for line in done.stdout.splitlines()) <= TABLE_WIDTH


def test_sessions_of_one_agent_as_json(kept: Kept) -> None:
    """The same for programs: one object a line."""
    done = ran(kept.folder, "sessions", "--store", kept.store, "--json", "--agent", "support")
    listed = [json.loads(line) for line in done.stdout.splitlines()]
    assert {each["agent"] for each in listed} == {"support"}
    assert 0 < len(listed) < 5


def test_sessions_are_found_by_what_they_show(kept: Kept) -> None:
    """R239: by the index, and it is told apart where it stands."""
    at = ("--store", kept.store)

    def listed(*which: str) -> list[dict[str, Any]]:
        lines = ran(kept.folder, "sessions", *at, "--json", *which).stdout.splitlines()
        return [json.loads(line) for line in lines]

    every = listed()
    preset = every[0]["preset"]
    found = listed("--preset", preset, "--contributor", "preamble")
    names = {each["session"]["key"] for each in every if each["preset"] == preset}
    assert {each["session"]["key"] for each in found} == names
    assert {tuple(each["shown_in"]) for each in found} == {("kept_prompt",)}
    told = ran(kept.folder, "sessions", *at, "--contributor", "preamble").stdout
    assert "shown: 5 in the kept prompt, 0 in a message" in told
    none = ran(kept.folder, "sessions", *at, "--label", "team=x", "--model", "gone")
    assert none.stdout == "There are no such sessions.\n"


async def test_a_transcript_tells_origins_picks_and_turn_records(
    kept: Kept, capsys: pytest.CaptureFixture[str]
) -> None:
    """R76, R98: who said what, with which skill, and what shaped each turn."""
    for number in range(5):
        await looking.show(console(), Stored(store=kept.store), f"demo-0-000{number}")
    shown = capsys.readouterr().out
    for part in ("person · message 0", "\nmodel · ", "\ntool · read_file done", "→ read_file"):
        assert part in shown
    assert "— turn 1 · done · scripted · " in shown
    assert " (picked)" in shown
    assert ESCAPE not in shown


async def test_a_transcript_is_whole_if_asked_for(
    kept: Kept, capsys: pytest.CaptureFixture[str]
) -> None:
    """Long tool results are shown by their first lines, and whole with --full."""
    for full in (False, True):
        for number in range(5):
            options = Stored(store=kept.store)
            await looking.show(console(), options, f"demo-0-000{number}", full=full)
        assert ("--full shows them" in capsys.readouterr().out) is not full


async def test_every_request_of_a_session_is_rebuilt_to_the_byte(
    kept: Kept, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """R196: the bytes come out alone on standard output, and their digest is checked."""
    options = Stored(store=kept.store)
    async with looking.open_reading(options) as store:
        turns = turns_of(looking.found(store, "default", KEY).records, "support")
    calls = [(turn.turn, call) for turn in turns for call in turn.model_calls]
    assert len(calls) > 3
    for turn, call in calls:
        assert await looking.request(options, KEY, turn, round_=call.round) == 0
        told = capfdbinary.readouterr()
        assert json.loads(told.out)["model"] == "scripted"
        assert f"exactly as the model was given them: digest {call.request}" in told.err.decode()


def test_the_command_writes_those_bytes_and_nothing_else(kept: Kept) -> None:
    """R196: what a pipe gets is one JSON object, to the byte."""
    done = ran(kept.folder, "request", KEY, 1, "--store", kept.store)
    assert done.returncode == 0
    assert done.stdout.startswith('{"model":"scripted","system":"')
    assert not done.stdout.endswith("\n")
    shown = ran(kept.folder, "show", KEY, "--json", "--store", kept.store)
    assert json.loads(shown.stdout)["session"]["session"]["key"] == KEY


async def test_bytes_that_are_not_those_are_told(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """R196: a digest that differs is said, and the exit code is 1."""

    def other(*arguments: object) -> SentRequest:
        return replace(request_at(*arguments), rebuilt="0" * 64)  # type: ignore[arg-type]

    monkeypatch.setattr(looking, "request_at", other)
    assert await looking.request(Stored(store=kept.store), KEY, 1) == 1
    assert b"NOT as the model was given them" in capfdbinary.readouterr().err


async def test_reading_works_beside_who_writes(tmp_path: Path) -> None:
    """R187: a store that another process holds for writing can be read all the same."""
    store = tmp_path / "store"
    async with open_lmdb(store):
        done = await trio.run_process(
            command("sessions", "--store", store),
            env=environment(tmp_path),
            capture_stdout=True,
        )
    assert done.stdout == b"There are no sessions.\n"


async def test_a_missing_session_names_like_ones(kept: Kept) -> None:
    """R218: whoever mistypes a key is shown those that are near; another tenant's are not."""
    async with open_lmdb(kept.store, read_only=True) as store:
        with pytest.raises(
            Missing, match=r"no session demo-0-3; there is demo-0-000.* and 2 more\."
        ):
            looking.found(store, "default", "demo-0-3")
        with pytest.raises(Missing) as told:
            looking.found(store, "another", KEY)
    assert "there is" not in told.value.sentence
    assert told.value.facts["session"] == str(SessionId("another", KEY))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("show", "nobody"), "There is no session nobody"),
        (("request", "nobody", "1"), "There is no session nobody"),
        (("request", KEY, "99"), "There is no turn 99 in this session; there are 3."),
        (("request", KEY, "1", "--round", "99"), "has no request of round 99"),
    ],
)
def test_what_is_missing_is_told_in_a_sentence(
    kept: Kept, arguments: tuple[str, ...], told: str
) -> None:
    """R232: one sentence with its way out, exit code 1, no traceback."""
    done = ran(kept.folder, *arguments, "--store", kept.store)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("greenroom: ")
    assert told in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_store_that_is_none_is_told(tmp_path: Path) -> None:
    """P048: other things, a file and nothing at all are refused and left as they are."""
    file = tmp_path / "file"
    file.write_text("mine")
    for path in (file, tmp_path, tmp_path / "nothing"):
        done = ran(tmp_path, "sessions", "--store", path)
        assert (done.returncode, done.stdout) == (1, "")
        assert "Give the path of a store" in done.stderr
        assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_the_default_store_is_named_while_there_is_none(tmp_path: Path) -> None:
    """Whoever lists before anything was kept is told where it would be; nothing is made."""
    done = ran(tmp_path, "sessions")
    assert done.returncode == 1
    assert str(tmp_path / "greenroom" / "store.greenroom") in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_leaves_is_no_error(kept: Kept) -> None:
    """``greenroom show KEY | head -1`` ends quietly."""
    reading = subprocess.Popen(
        command("show", KEY, "--full", "--store", kept.store),
        env=environment(kept.folder, PYTHONUNBUFFERED="1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert reading.stdout is not None
    assert reading.stderr is not None
    reading.stdout.close()
    with reading:
        assert reading.stderr.read() == b""
        assert reading.wait() == 141


@pytest.mark.parametrize("columns", [1, 20, 60, 400])
def test_keys_are_whole_however_narrow_it_is(kept: Kept, columns: int) -> None:
    """R219: a key that is cut names nothing, so none is ever folded, cut or dropped."""
    done = ran(kept.folder, "sessions", "--store", kept.store, COLUMNS=str(columns))
    assert (done.returncode, done.stderr) == (0, "")
    words = done.stdout.split()
    assert {f"demo-0-000{number}" for number in range(5)} <= set(words)
    assert words.count("idle") == 5


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_title_is_listed_where_there_is_one(width: int) -> None:
    """R95: beside the key, in short and on one line; without any there is no place kept for it."""
    titled = replace(SUMMARY, title="A late order \x1b[31m" + "x" * 90)
    for listed in ([SUMMARY], [titled, SUMMARY]):
        file = io.StringIO()
        looking._print_listing(Console(file=file, width=width, soft_wrap=True), listed)
        assert ("A late order" in file.getvalue()) is (titled in listed)
        assert ("title" in file.getvalue()) is (titled in listed and width == 200)
        assert ESCAPE not in file.getvalue()


async def test_a_transcript_begins_with_the_title(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """R95: and the command for programs has it too."""
    async with open_lmdb(tmp_path / "store") as store, stage(store=store) as on:
        await (await on.session("ann")).set_title("A late order")
    await looking.show(console(), Stored(store=tmp_path / "store"), "ann")
    assert capsys.readouterr().out.splitlines()[:2] == ["ann", "A late order"]


@pytest.mark.parametrize("width", [80, 200])
def test_a_key_that_has_no_room_in_a_table_stands_on_its_own(width: int) -> None:
    """R219: any key can be typed as it is listed, two blanks and all."""
    key = f"customer  {'x' * 90}"
    summary = replace(SUMMARY, session=SessionId("default", key))
    file = io.StringIO()
    looking._print_listing(Console(file=file, width=width, soft_wrap=True), [summary, SUMMARY])
    lines = [line.partition("   ")[0] for line in file.getvalue().splitlines()]
    assert key in lines
    assert "short" in lines
