"""Where the commands keep what nobody gave a place for."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

from greenroom.actors import SAMPLE


def data_folder() -> Path:
    """Where this platform keeps a person's data; XDG_DATA_HOME goes before all."""
    if told := os.environ.get("XDG_DATA_HOME"):
        return Path(told) / "greenroom"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "greenroom"
    return Path.home() / ".local" / "share" / "greenroom"


def default_store() -> Path:
    """The store of commands that are not given one."""
    return data_folder() / "store.greenroom"


def own_sample(folder: Path) -> Path:
    """A copy of the sample workspace in ``folder``: tools may write into a workspace's files, and
    those of the installed package are nobody's to write.
    """
    target = folder / "sample"
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        # Copied beside its place and moved there whole: a copy cut short is never taken for one.
        with tempfile.TemporaryDirectory(dir=folder, prefix=".sample-") as made:
            shutil.copytree(SAMPLE, Path(made) / "sample")
            (Path(made) / "sample").replace(target)
    return target
