"""Laws of traces: what a line may say, and what is refused."""

from pathlib import Path

import msgspec
import pytest

from greenroom.actors.bench import (
    Blocks,
    BrokenTrace,
    Compact,
    Edit,
    Expire,
    Line,
    Prompt,
    Switch,
    read_trace,
    workload,
    write_trace,
)
from greenroom.actors.bench.trace import digest_of
from tests.actors.bench.scenes import prompt

LINES: tuple[Line, ...] = (
    prompt(0, text="Hello", picks=("skills/letters",), results=(1, 2), answer=3),
    prompt(1, tenant="x", tokens=9, person=None),
    prompt(1, "t", hashes=("a", 2)),
    Edit(at=2, part="agent", name="clerk", text="New."),
    Switch(at=3, session="s", preset="workspace-write", model="m"),
    Compact(at=4, session="s", summary=5),
    Expire(at=5),
    Blocks(at=6, length=3, hashes=(1, 2), size=2),
)


def written(folder: Path, *lines: str) -> Path:
    """A file of these lines."""
    path = folder / "trace.jsonl"
    path.write_text("\n".join(lines))
    return path


def test_every_line_comes_back_as_it_was_written(tmp_path: Path) -> None:
    """One JSON object a line."""
    path = tmp_path / "trace.jsonl"
    write_trace(path, LINES)
    assert read_trace(path) == LINES
    assert len(path.read_text().splitlines()) == len(LINES)


def test_the_public_form_is_read(tmp_path: Path) -> None:
    """Hashes of any size stand for their blocks; the last block may be partial."""
    path = written(
        tmp_path,
        '{"timestamp": 0, "input_length": 700, "hash_ids": [46, 9999999999999]}',
        "",
        '{"timestamp": 27482, "input_length": 1024, "output_length": 9, "hash_ids": [46, 3]}',
    )
    first, second = read_trace(path)
    assert isinstance(first, Blocks)
    assert isinstance(second, Blocks)
    assert (first.at, first.length, first.size) == (0, 700, 512)
    assert (second.at, second.length) == (27_482, 1_024)
    assert first.hashes[0] == second.hashes[0]
    assert len({*first.hashes, *second.hashes}) == 3


def test_the_public_form_may_have_other_blocks_and_seconds(tmp_path: Path) -> None:
    """Traces differ in both."""
    path = written(tmp_path, '{"timestamp": 1.5, "input_length": 17, "hash_ids": [1, 2]}')
    (line,) = read_trace(path, block=16, millisecond=0.001)
    assert line == Blocks(at=1_500, length=17, hashes=(1, 2), size=16)


@pytest.mark.parametrize(
    "line",
    [
        "nothing",
        "[]",
        '{"kind": "prompt", "at": 1}',
        '{"kind": "shout", "at": 1}',
        '{"kind": "expire", "at": 1, "why": "?"}',
        '{"kind": "prompt", "at": 1, "session": "s", "agent": "a", "answer": -1}',
        '{"kind": "prompt", "at": 1, "session": "s", "agent": "a", "tokens": 99999999999}',
        '{"kind": "blocks", "at": 1, "length": 3, "hashes": [-1]}',
        '{"timestamp": 0, "hash_ids": [1]}',
    ],
)
def test_a_line_of_neither_form_is_refused_by_its_number(tmp_path: Path, line: str) -> None:
    """And nothing is played of the trace."""
    path = written(tmp_path, '{"kind": "expire", "at": 0}', line)
    with pytest.raises(BrokenTrace, match=r"trace\.jsonl:2"):
        read_trace(path)


def test_time_does_not_run_back(tmp_path: Path) -> None:
    """A cache would be asked about the past."""
    path = written(tmp_path, '{"kind": "expire", "at": 5}', '{"kind": "expire", "at": 4}')
    with pytest.raises(BrokenTrace, match="Line 2"):
        read_trace(path)


@pytest.mark.parametrize("length", [0, 512, 1_025])
def test_blocks_cover_their_request(tmp_path: Path, length: int) -> None:
    """As many as its length needs, no more and no fewer."""
    line = f'{{"timestamp": 0, "input_length": {length}, "hash_ids": [1, 2]}}'
    with pytest.raises(BrokenTrace, match="2 blocks of 512"):
        read_trace(written(tmp_path, line))


def test_a_trace_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    """By its name."""
    with pytest.raises(BrokenTrace, match="cannot be read"):
        read_trace(tmp_path / "none.jsonl")


def test_a_message_is_its_text_or_its_length_or_its_hashes() -> None:
    """Equal hashes are equal text; a length alone is unlike any other message."""
    assert prompt(text="Hello").words(0) == "Hello"
    first, second = prompt(hashes=("a", "b")).words(0), prompt(hashes=("a", "c")).words(7)
    assert first[:64] == second[:64]
    assert first[64:] != second[64:]
    assert len(prompt(tokens=100).words(0)) == 400
    words = {prompt(session=session, tokens=100).words(turn) for session in "ab" for turn in (0, 1)}
    assert len(words) == 4


def test_the_same_seed_makes_the_same_workload() -> None:
    """To the byte; another seed another one."""
    one, again, other = (workload(seed, conversations=60, turns=3) for seed in (1, 1, 2))
    assert one.lines == again.lines
    assert digest_of(one.lines) == digest_of(again.lines) != digest_of(other.lines)


def test_a_workload_is_the_same_on_every_machine() -> None:
    """What it is made of is drawn as fractions, in whole milliseconds."""
    made = workload(0, conversations=100, turns=4)
    assert digest_of(made.lines)[:16] == "d07bca3752cd33f6"


def test_a_workload_has_what_it_says() -> None:
    """So many conversations and turns, and everything that can befall them."""
    made = workload(0, conversations=200, turns=10, agents=3, persons=7)
    prompts = [line for line in made.lines if isinstance(line, Prompt)]
    kinds = {type(line) for line in made.lines}
    assert len(prompts) == 2_000
    assert len({line.session for line in prompts}) == 200
    assert {line.agent for line in prompts} == {f"agent{number}" for number in range(3)}
    assert {line.person for line in prompts} == {f"person{number}" for number in range(7)}
    assert kinds == {Prompt, Edit, Switch, Compact, Expire}
    assert any(line.picks for line in prompts)
    assert msgspec.json.decode(msgspec.json.encode(made.lines), type=tuple[Line, ...]) == made.lines


def test_a_wave_comes_when_the_caches_are_cold() -> None:
    """At once, and to one agent."""
    made = workload(0, conversations=200, turns=2)
    cold = [line.at for line in made.lines if isinstance(line, Expire)]
    assert len(cold) == 2
    for moment in cold:
        wave = [
            line for line in made.lines if isinstance(line, Prompt) and 0 < line.at - moment <= 500
        ]
        assert len(wave) >= 4
