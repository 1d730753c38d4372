"""Laws of all commands: help, usage, and what a person is told when something is missing."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.actors.cli.commands import environment, ran, ran_anew, ran_without
from tests.actors.cli.conftest import Kept

COMMANDS = (
    *("demo", "chat", "sessions", "show", "request", "schema", "hold", "lift", "holds"),
    *("explain", "kept-prompt", "contributors", "spend", "plugin", "questions", "answer"),
    *("compact", "export", "import", "recompose", "journal"),
)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_tells_its_options(tmp_path: Path, command: str) -> None:
    """Each command explains itself, in plain words, and exits with 0."""
    done = ran(tmp_path, command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"greenroom {command}" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("nix",),
        ("demo", "--nix"),
        ("demo", "--sessions", "0"),
        ("demo", "--turns", "many"),
        ("request", "a", "zero"),
        ("show",),
        ("explain", "a"),
        ("chat", "--model", "m", "--base-url", "http://127.0.0.1:1", "--key-env", "NOT_SET_HERE"),
        ("chat", "--base-url", "http://127.0.0.1:1"),
        ("chat", "--model", "scripted", "--key-env", "HOME"),
        ("chat", "--model", "m", "--base-url", "127.0.0.1:1/v1"),
        ("chat", "--model", "m", "--base-url", "ftp://127.0.0.1/v1"),
        ("chat", "--model", "m", "--base-url", "http:///v1"),
        ("chat", "--model", "m", "--base-url", "http://127.0.0.1:port/v1"),
        ("chat", "--model", "scripted", "--session", ""),
    ],
)
def test_wrong_usage_exits_with_2(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """Wrong usage is told from a failure, and is no traceback."""
    done = ran(tmp_path, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("missing", ["cyclopts", "rich"])
def test_without_the_extra_the_command_says_how_to_get_it(tmp_path: Path, missing: str) -> None:
    """The console script exists with the core alone: it names the pip command."""
    done = ran_without(tmp_path, missing, "demo")
    assert (done.returncode, done.stdout) == (1, "")
    assert "pip install 'greenroom[cli]'" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("missing", "arguments", "extra"),
    [
        ("xllamacpp", ("chat",), "local"),
        ("xllamacpp", ("demo", "--model", "local"), "local"),
        ("httpx2", ("chat", "--model", "m", "--base-url", "http://127.0.0.1:1"), "openai"),
        ("yaml", ("chat", "--model", "scripted"), "workspace"),
    ],
)
def test_a_missing_part_is_told_with_its_pip_command(
    tmp_path: Path, missing: str, arguments: tuple[str, ...], extra: str
) -> None:
    """R232: whoever lacks an extra is told its name."""
    done = ran_without(tmp_path, missing, *arguments)
    assert done.returncode == 1
    assert f"greenroom[{extra}]" in done.stderr
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--model", "nix"), "There is no model 'nix'"),
        (("--model", "scripted", "--agent", "nix"), "There is no agent 'nix'"),
        (("--model", "scripted", "--preset", "nix"), "There is no preset 'nix'"),
    ],
)
def test_unknown_names_are_told_with_the_choices(
    tmp_path: Path, arguments: tuple[str, ...], told: str
) -> None:
    """R10, R59: an unknown model, agent or preset is refused before anything is made."""
    done = ran(tmp_path, "chat", *arguments)
    assert done.returncode == 1
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_all_faults_of_a_workspace_are_listed(tmp_path: Path) -> None:
    """R231: a broken workspace is told whole, with the file of each fault."""
    agents = tmp_path / "broken" / "agents"
    agents.mkdir(parents=True)
    (agents / "one.md").write_text("---\nskills: [nowhere]\n---\nHello")
    (agents / "two.md").write_text("---\nskills: [gone]\n---\nHello")
    done = ran(tmp_path, "chat", tmp_path / "broken", "--model", "scripted")
    assert (done.returncode, done.stdout) == (1, "")
    assert "nowhere" in done.stderr
    assert "gone" in done.stderr


def test_a_workspace_that_is_none_is_named(tmp_path: Path) -> None:
    """R231: whoever mistypes a folder is told which, and no fault of a file is made up."""
    (tmp_path / "ex.py").write_text("print()")
    for path, told in (
        ("nofolder", "There is no folder 'nofolder'."),
        (tmp_path / "ex.py", f"'{tmp_path / 'ex.py'}' is not a folder that can be read."),
    ):
        done = ran(tmp_path, "chat", path, "--model", "scripted")
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == f"greenroom: {told} Give the folder that has agents/NAME.md in it.\n"


def test_the_scripted_model_is_told(tmp_path: Path) -> None:
    """What --model takes without any extra stands in the help."""
    assert "scripted" in ran(tmp_path, "chat", "--help").stdout


def test_debug_shows_where_an_error_came_from(tmp_path: Path) -> None:
    """A traceback is there for who asks for it."""
    arguments = ("sessions", "--store", tmp_path / "nothing")
    assert "Traceback" not in ran(tmp_path, *arguments).stderr
    assert "Traceback" in ran(tmp_path, *arguments, "--debug").stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "\udcff"),
        ("request", "\udcff", "1"),
        ("sessions", "--tenant", "\udcff"),
        ("questions", "--tenant", "\udcff"),
        ("export", "a", "--tenant", "\udcff"),
        ("spend", "--agent", "\udcff"),
    ],
)
def test_a_key_that_is_no_text_is_told_in_a_sentence(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    """R194, R232: bytes that are no UTF-8 on a command line name nothing that is stored."""
    store = str(tmp_path / "s")
    made = ran(tmp_path, "demo", "--sessions", "1", "--turns", "1", "--store", store)
    assert made.returncode == 0
    done = ran(tmp_path, *arguments, "--store", store)
    assert done.returncode == 1
    assert done.stderr.startswith("greenroom: ")
    assert "Traceback" not in done.stderr


def test_a_terminal_of_few_letters_gets_what_it_can_show(tmp_path: Path) -> None:
    """R232: what a terminal has no letter for is no failure of the command."""
    store = str(tmp_path / "s")
    ran(tmp_path, "demo", "--sessions", "1", "--turns", "1", "--store", store)
    listed = ran(tmp_path, "sessions", "--json", "--store", store)
    key = json.loads(listed.stdout)["session"]["key"]
    done = ran_anew(tmp_path, "show", key, "--store", store, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert "?" in done.stdout


INTERRUPTED = """
import sys

class Importing:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt

from greenroom.actors.cli import main
sys.meta_path.insert(0, Importing())
sys.exit(main())
"""


@pytest.mark.parametrize("module", ["cyclopts", "rich.console", "greenroom.actors.cli.chat"])
def test_ctrl_c_while_the_command_is_imported_ends_it_quietly(tmp_path: Path, module: str) -> None:
    """R232: 130, and no traceback of what was just being imported."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED.format(module=module)],
        env=environment(tmp_path),
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (128 + signal.SIGINT, b"", b"")


@pytest.mark.parametrize(
    ("arguments", "way_out"),
    [
        (("chat", "--model", "nix"), "Give --model local, scripted or a gguf file"),
        (("request", "demo-0-0000", "99"), "Check the name or number: `greenroom sessions` lists"),
        (("show", "x" * 70_000), "Give less: no option of a command raises a bound."),
        (("sessions", "--store", "x" * 700), "Look at the cause that is named, then try again."),
        (("sessions",), "Begin one there, or give the folder of another with --store."),
        (("demo", "--store", "/dev/null/x"), "Look at the cause that is named, then try again."),
        (("chat", "--model", "x" * 700), "Mend that, or give another path."),
    ],
)
def test_the_way_out_is_one_of_the_command_line(
    kept: Kept, tmp_path: Path, arguments: tuple[str, ...], way_out: str
) -> None:
    """R232: what is told to do can be typed where it is told."""
    store = ("--store", kept.store) if arguments[0] in {"request", "show"} else ()
    done = ran(tmp_path, *arguments, *store)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert way_out in done.stderr


@pytest.mark.parametrize(
    ("arguments", "size"),
    [
        (("sessions",), 0),
        (("sessions",), 5_000),
        (("chat", "--model", "scripted"), 0),
        (("demo",), 0),
    ],
)
def test_a_store_that_cannot_be_opened_has_no_session_to_be_read(
    kept: Kept, tmp_path: Path, arguments: tuple[str, ...], size: int
) -> None:
    """P048: a data file that was emptied or cut is no damage of one session."""
    store = tmp_path / "store"
    shutil.copytree(kept.store, store)
    os.truncate(store / "data.mdb", size)
    done = ran(tmp_path, *arguments, "--store", store)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "Restore a backup: no session of it can be read now." in done.stderr
