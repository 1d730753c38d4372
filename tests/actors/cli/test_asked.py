"""Laws of ``greenroom questions`` and ``greenroom answer``: with no host running."""

import json
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import Policy
from greenroom.actors.cli.asked import answer, questions
from greenroom.actors.cli.faults import said
from greenroom.actors.cli.options import Stored
from greenroom.actors.cli.words import console
from greenroom.actors.models.scripted import Step, call
from greenroom.protocol.errors import GreenroomError
from greenroom.protocol.question import Allow, Answer, Deny, Result
from greenroom.store import open_lmdb
from tests.actors.asked import ASKS, asks, calls_of, hosting
from tests.actors.cli.commands import ESCAPE, ran
from tests.actors.stage import until_ended
from tests.actors.submitting import OPTIONS
from tests.actors.world import AGENT, Stage, conversation

KIM = Allow("kim")
EVIL = "\x1b[2J\x07"


async def asked(
    path: Path, *steps: Step, tenant: str = "default", key: str = "ann", **options: Any
) -> list[str]:
    """A store with a turn that waits; the ids of what it asks, oldest first."""
    async with open_lmdb(path, options=OPTIONS) as store:
        stage = Stage(store)
        async with hosting(stage, *steps, **options) as host:
            session = await host.tenant(tenant).session(key, agent=AGENT, preset=ASKS)
            return [question.id for question in await asks(session)]


async def goes_on(path: Path, *steps: Step) -> tuple[list[str], list[tuple[str, str]], list[str]]:
    """What the next host does: effects, calls and the conversation."""
    async with open_lmdb(path, options=OPTIONS) as store:
        stage = Stage(store)
        async with hosting(stage, *steps) as host:
            session = await host.session("ann")
            with trio.fail_after(20):
                await until_ended(session)
            await wait_all_tasks_blocked()
            return stage.effects, await calls_of(session), await conversation(session)


async def test_questions_are_listed_and_answered(tmp_path: Path) -> None:
    """R223, R161, P134: what is shown is what runs, with the next host and without being asked."""
    store = tmp_path / "store"
    calls = (call("pay", cents=7), call("pay", cents=8), call("fetch"))
    first, second, third = await asked(store, calls)
    where = ("--store", store)
    done = ran(tmp_path, "questions", *where)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[:2] == ["pay: may it run?", '  {"cents":7}']
    assert "fetch: what does it bring?" in lines
    assert [line.strip() for line in lines if len(line.strip()) == 64] == [first, second, third]
    assert lines[-1] == "3 open questions"
    told = [
        json.loads(line) for line in ran(tmp_path, "questions", "--json", *where).stdout.split()
    ]
    assert [each["id"] for each in told] == [first, second, third]
    assert (told[0]["arguments"], told[0]["kind"]) == ('{"cents":7}', "approval")
    given = [
        (first, ("--allow",), "allowed by kim"),
        (second, ("--deny", "too much"), "denied by kim"),
        (third, ("--result", "It came."), "answered by kim"),
    ]
    for name, options, sentence in given:
        done = ran(tmp_path, "answer", name, *options, "--by", "kim", *where)
        assert (done.returncode, done.stdout, done.stderr) == (0, f"{sentence}\n", "")
    assert ran(tmp_path, "questions", *where).stdout == "0 open questions\n"
    effects, made, told_to = await goes_on(store, "Done.")
    assert effects == ["pay 7"]
    assert made == [("pay", "done"), ("pay", "declined"), ("fetch", "done")]
    assert "[Not run: kim declined it and said: too much]" in told_to
    assert "[It came.]" in told_to


async def test_a_second_answer_is_told_the_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """R223, P131: and exits with 1 where it says otherwise; also when the turn is over."""
    store = Stored(store=tmp_path / "store")
    [name] = await asked(store.path, call("pay"))
    for given, code in ((KIM, 0), (KIM, 0), (Deny("kim"), 1)):
        assert await answer(console(), store, name, given) == code
    await goes_on(store.path, "Done.")
    assert await answer(console(), store, name, Deny("lee")) == 1
    first, late = "allowed by kim\n", "already allowed by kim\n"
    assert capsys.readouterr().out == first * 2 + late * 2
    assert await answer(console(), store, name, Deny("lee"), as_json=True) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["id"], told["answer"]["by"]) == (name, "kim")


async def test_what_is_wrong_with_an_answer_is_told(tmp_path: Path) -> None:
    """R223, R232: one sentence with its way out, nothing is written, and no store is made."""
    store = Stored(store=tmp_path / "store")
    [approval, result] = await asked(store.path, (call("pay"), call("fetch")))
    nowhere = Stored(store=tmp_path / "none")
    other = Stored(store=store.path, tenant="other")
    wrong: list[tuple[str, Answer, Stored, str]] = [
        (approval, Result("x", "kim"), store, "Allow it or deny it."),
        (result, KIM, store, "Bring the result"),
        ("0" * 64, KIM, store, "There is no question"),
        (approval, KIM, other, "There is no question"),
        (approval, Deny("kim", "x" * 70_000), store, "the bound is"),
        (approval, KIM, nowhere, "no store"),
    ]
    for name, given, where, sentence in wrong:
        with pytest.raises(GreenroomError) as caught:
            await answer(console(), where, name, given)
        assert sentence in said(caught.value)
    assert not nowhere.path.exists()
    done = ran(tmp_path, "answer", approval, "--allow", "--deny", "x", "--store", store.path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Say one of --allow" in done.stderr
    assert ran(tmp_path, "questions", "--store", store.path).stdout.endswith("2 open questions\n")


async def test_a_tenants_questions_are_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """R218: the others are not listed."""
    store = tmp_path / "store"
    await asked(store, call("pay"))
    [other] = await asked(store, call("pay"), tenant="b", key="ben")
    assert await questions(console(), Stored(store=store, tenant="b")) == 0
    listed = capsys.readouterr().out
    assert other in listed
    assert listed.endswith("1 open question\n")


async def test_what_a_model_wrote_cannot_command_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """P128: a question is shown as text, cut at a length; until when it waits, in UTC."""
    store = tmp_path / "store"
    await asked(store, call("order", what=EVIL * 200), policy=Policy(approval_seconds=60))
    assert await questions(console(), Stored(store=store)) == 0
    told = capsys.readouterr().out
    assert ESCAPE not in told
    assert "2023-11-14 22:13:20 UTC · until 2023-11-14 22:14:20" in told
    assert max(len(line) for line in told.splitlines()) < 300


async def test_a_store_that_a_host_holds(tmp_path: Path) -> None:
    """R187, R223: questions are read beside it; an answer is its own to take, and it is named."""
    store = tmp_path / "store"
    async with open_lmdb(store, options=OPTIONS) as kept:
        stage = Stage(kept)
        async with hosting(stage, call("pay"), "Done.") as host:
            session = await host.session("ann", agent=AGENT, preset=ASKS)
            [question] = await asks(session)
            given = (["questions"], ["answer", question.id, "--allow", "--by", "kim"])
            done = [
                await trio.to_thread.run_sync(ran, tmp_path, *command, "--store", store)
                for command in given
            ]
            assert [each.returncode for each in done] == [0, 1]
            assert question.id in done[0].stdout
            assert "`questions` read beside it" in done[1].stderr
            await host.answer(question, Allow("kim"))


@pytest.mark.parametrize("name", ["", "kim"])
async def test_who_answers_is_who_is_logged_in_unless_it_is_said(tmp_path: Path, name: str) -> None:
    """R223: the record holds who; nobody is made up."""
    store = tmp_path / "store"
    [question] = await asked(store, call("pay"))
    told = dict.fromkeys(("LOGNAME", "USER", "LNAME", "USERNAME"), "lea")
    by = ("--by", name) if name else ()
    done = ran(tmp_path, "answer", question, "--allow", *by, "--store", store, **told)
    assert done.stdout == f"allowed by {name or 'lea'}\n"
