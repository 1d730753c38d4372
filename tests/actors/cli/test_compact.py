"""Laws of ``greenroom compact``: one conversation is summarised, with no host running."""

import json
from pathlib import Path

from tests.actors.cli.commands import ran

SCRIPTED = ("--model", "scripted")


def talked(folder: Path, *lines: str) -> None:
    """A conversation of these messages."""
    done = ran(folder, "chat", *SCRIPTED, "--session", "a", given="\n".join(lines))
    assert done.returncode == 0


def test_a_conversation_is_compacted(tmp_path: Path) -> None:
    """R106, R98: the summary is printed, and shown with its origin among what was said."""
    talked(tmp_path, "first " + "x" * 3_000, "second", "third")
    done = ran(tmp_path, "compact", "a", *SCRIPTED)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("compacted\n")
    assert "stands for everything before message " in done.stdout
    summary = done.stdout.splitlines()[1].strip()
    shown = ran(tmp_path, "show", "a").stdout
    assert "\ncompaction · " in shown
    assert summary in shown.partition("\ncompaction · ")[2]
    assert "first x" in shown
    talked(tmp_path, "fourth")
    told = json.loads(ran(tmp_path, "request", "a", "4", "--round", "0").stdout)["messages"]
    assert summary in told[0]["content"]
    assert not any("first x" in str(message) for message in told)


def test_with_nothing_to_compact_it_says_so(tmp_path: Path) -> None:
    """R111: it is no error, also for programs."""
    talked(tmp_path, "Hello")
    done = ran(tmp_path, "compact", "a", *SCRIPTED, "--json")
    assert done.returncode == 0
    told = json.loads(done.stdout)
    assert (told["status"], told["before"]) == ("nothing to compact", None)


def test_a_session_that_is_not_there_is_told(tmp_path: Path) -> None:
    """R232: with one that is, and no store is made."""
    done = ran(tmp_path, "compact", "b", *SCRIPTED)
    assert done.returncode == 1
    assert "Nothing was kept yet" in done.stderr
    talked(tmp_path, "Hello")
    done = ran(tmp_path, "compact", "b", *SCRIPTED)
    assert (done.returncode, done.stdout) == (1, "")
    assert "there is a." in done.stderr


def test_it_needs_the_agent_of_the_conversation(tmp_path: Path) -> None:
    """R232: another workspace does not have it, and the error says which there are."""
    talked(tmp_path, "Hello")
    agents = tmp_path / "work" / "agents"
    agents.mkdir(parents=True)
    (agents / "other.md").write_text("You help.")
    done = ran(tmp_path, "compact", "a", *SCRIPTED, "--workspace", tmp_path / "work")
    assert done.returncode == 1
    assert "other" in done.stderr
